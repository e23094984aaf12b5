create table meta (name text primary key, value bigint not null);
insert into meta values ('identity', floor(random() * 4611686018427387904)::bigint), ('key_version', 0), ('completion_bytes', 0);

create table keys (
    id text collate "C" primary key,
    name text not null,
    created bigint not null,
    revoked bigint,
    version bigint not null,
    document text not null
);
create unique index keys_live_name on keys (name) where revoked is null;
create index keys_name on keys (name);
create index keys_version on keys (version);

create table secrets (
    digest bytea primary key,
    key_id text not null references keys (id),
    hint text not null,
    created bigint not null,
    expires bigint
);
create index secrets_key on secrets (key_id);

create table audit (
    number bigint generated always as identity primary key,
    time bigint not null,
    actor text not null,
    action text not null,
    subject text not null,
    detail text not null
);
create index audit_time on audit (time);

create table entries (
    id bigint generated always as identity,
    boot bigint not null,
    worker bigint not null,
    sequence bigint not null,
    time bigint not null,
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
    status bigint not null,
    error text,
    blocked text,
    stream bigint not null,
    attempts bigint not null,
    input_tokens bigint not null,
    cached_tokens bigint not null,
    cache_write_tokens bigint not null,
    output_tokens bigint not null,
    reasoning_tokens bigint not null,
    usage text,
    price bigint not null,
    price_version text,
    duration bigint not null,
    first_chunk bigint,
    finish text,
    detail text,
    primary key (boot, worker, sequence, time)
) partition by range (time);
create index entries_time on entries (time, id);
create index entries_key on entries (key, time, id);

create table rollups (
    grain text not null,
    dimension text not null,
    scope text collate "C" not null,
    start bigint not null,
    name text collate "C" not null,
    turns bigint not null,
    errors bigint not null,
    blocked bigint not null,
    estimated bigint not null,
    input_tokens bigint not null,
    cached_tokens bigint not null,
    cache_write_tokens bigint not null,
    output_tokens bigint not null,
    reasoning_tokens bigint not null,
    price bigint not null,
    duration bigint not null,
    primary key (grain, dimension, scope, start, name)
);
create index rollups_start on rollups (grain, start);

create table completions (
    id text collate "C" primary key,
    key text not null,
    time bigint not null,
    model text not null,
    metadata text not null,
    size bigint not null
);
create index completions_key on completions (key, time, id);
create index completions_time on completions (time, id);

create table completion_bodies (
    id text collate "C" primary key references completions (id) on delete cascade,
    request bytea not null,
    answer bytea not null
);

-- Entries are partitioned by day (UTC). Names of tables cannot be parameters, so they are made here and nowhere else.
create function antiphon_add_day(day bigint) returns void language plpgsql as $$
declare
    part text := 'entries_' || to_char(to_timestamp(day * 86400.0) at time zone 'UTC', 'YYYYMMDD');
begin
    if to_regclass(quote_ident(part)) is not null then
        return;
    end if;
    perform pg_advisory_xact_lock(4207849484);
    execute format('create table if not exists %I partition of entries for values from (%s) to (%s)',
        part, day * 86400000000, (day + 1) * 86400000000);
end $$;

create function antiphon_days() returns table (day bigint, bytes bigint) language sql stable as $$
    select
        (extract(epoch from to_date(right(child.relname, 8), 'YYYYMMDD')) / 86400)::bigint,
        pg_total_relation_size(child.oid)
    from pg_inherits
    join pg_class child on child.oid = pg_inherits.inhrelid
    where pg_inherits.inhparent = 'entries'::regclass
    order by 1
$$;

create function antiphon_drop_day(day bigint) returns void language plpgsql as $$
begin
    execute format('drop table if exists %I',
        'entries_' || to_char(to_timestamp(day * 86400.0) at time zone 'UTC', 'YYYYMMDD'));
end $$;
