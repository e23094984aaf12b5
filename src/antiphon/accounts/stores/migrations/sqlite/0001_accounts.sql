create table meta (name text primary key, value integer not null) without rowid;
insert into meta values ('identity', abs(random() % 4611686018427387904)), ('key_version', 0), ('completion_bytes', 0);

create table keys (
    id text primary key,
    name text not null,
    created integer not null,
    revoked integer,
    version integer not null,
    document text not null
) without rowid;
create unique index keys_live_name on keys (name) where revoked is null;
create index keys_name on keys (name);
create index keys_version on keys (version);

create table secrets (
    digest blob primary key,
    key_id text not null references keys (id),
    hint text not null,
    created integer not null,
    expires integer
) without rowid;
create index secrets_key on secrets (key_id);

create table audit (
    number integer primary key autoincrement,
    time integer not null,
    actor text not null,
    action text not null,
    subject text not null,
    detail text not null
);
create index audit_time on audit (time);

create table entries (
    id integer primary key autoincrement,
    boot integer not null,
    worker integer not null,
    sequence integer not null,
    time integer not null,
    request_id text not null,
    kind text not null,
    corrects text,
    key text,
    team text,
    tags text not null,
    endpoint text,
    dialect text,
    route text,
    model_asked text,
    model text,
    upstream text,
    status integer not null,
    error text,
    blocked text,
    stream integer not null,
    attempts integer not null,
    input_tokens integer not null,
    cached_tokens integer not null,
    cache_write_tokens integer not null,
    output_tokens integer not null,
    reasoning_tokens integer not null,
    usage text,
    price integer not null,
    price_version text,
    duration integer not null,
    first_chunk integer,
    finish text,
    detail text,
    unique (boot, worker, sequence)
);
create index entries_time on entries (time, id);
create index entries_key on entries (key, time, id);

create table rollups (
    grain text not null,
    dimension text not null,
    scope text not null,
    start integer not null,
    name text not null,
    turns integer not null,
    errors integer not null,
    blocked integer not null,
    estimated integer not null,
    input_tokens integer not null,
    cached_tokens integer not null,
    cache_write_tokens integer not null,
    output_tokens integer not null,
    reasoning_tokens integer not null,
    price integer not null,
    duration integer not null,
    primary key (grain, dimension, scope, start, name)
) without rowid;
create index rollups_start on rollups (grain, start);

create table completions (
    id text primary key,
    key text not null,
    time integer not null,
    model text not null,
    metadata text not null,
    size integer not null
) without rowid;
create index completions_key on completions (key, time, id);
create index completions_time on completions (time, id);

create table completion_bodies (
    id text primary key references completions (id) on delete cascade,
    request blob not null,
    answer blob not null
);
