-- Tables of LiteLLM's database, as far as its keys, teams, users, budgets and daily spend go (columns as LiteLLM's
-- migrations make them; those of other features are left out).
create table "LiteLLM_BudgetTable" (
    budget_id text primary key, max_budget double precision, soft_budget double precision,
    max_parallel_requests integer, tpm_limit bigint, rpm_limit bigint, model_max_budget jsonb, budget_duration text,
    budget_reset_at timestamp(3)
);
create table "LiteLLM_VerificationToken" (
    token text primary key, key_name text, key_alias text, spend double precision not null default 0,
    expires timestamp(3), models text[], aliases jsonb not null default '{}', config jsonb not null default '{}',
    user_id text, team_id text, permissions jsonb not null default '{}', max_parallel_requests integer,
    metadata jsonb not null default '{}', blocked boolean, tpm_limit bigint, rpm_limit bigint,
    max_budget double precision, budget_duration text, budget_reset_at timestamp(3),
    allowed_routes text[] default '{}', model_spend jsonb not null default '{}',
    model_max_budget jsonb not null default '{}', budget_id text references "LiteLLM_BudgetTable", budget_limits jsonb,
    organization_id text, created_at timestamp(3) default current_timestamp, updated_at timestamp(3)
);
create table "LiteLLM_DeprecatedVerificationToken" (
    id text primary key, token text not null unique, active_token_id text not null, revoke_at timestamp(3) not null
);
create table "LiteLLM_TeamTable" (
    team_id text primary key, team_alias text, organization_id text, admins text[], members text[],
    metadata jsonb not null default '{}', max_budget double precision, spend double precision not null default 0,
    models text[], max_parallel_requests integer, tpm_limit bigint, rpm_limit bigint, budget_duration text,
    budget_reset_at timestamp(3), blocked boolean not null default false
);
create table "LiteLLM_UserTable" (
    user_id text primary key, user_alias text, teams text[] default '{}', user_role text, user_email text,
    max_budget double precision, spend double precision not null default 0, models text[],
    max_parallel_requests integer, tpm_limit bigint, rpm_limit bigint, budget_duration text
);
create table "LiteLLM_ProxyModelTable" (model_id text primary key, model_name text not null, litellm_params jsonb);
create table "LiteLLM_DailyUserSpend" (
    id text primary key, user_id text, date text not null, api_key text not null, model text, model_group text,
    custom_llm_provider text, prompt_tokens bigint not null default 0, completion_tokens bigint not null default 0,
    cache_read_input_tokens bigint not null default 0, cache_creation_input_tokens bigint not null default 0,
    spend double precision not null default 0, api_requests bigint not null default 0,
    successful_requests bigint not null default 0, failed_requests bigint not null default 0
);
