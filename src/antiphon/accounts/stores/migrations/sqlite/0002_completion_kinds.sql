alter table completions add column kind text not null default 'chat.completion';
