-- What was added from April 2025 to the middle of February 2026.

ALTER TABLE "LiteLLM_OrganizationTable" ADD object_permission_id TEXT;

ALTER TABLE "LiteLLM_TeamTable" ADD object_permission_id TEXT, ADD team_member_permissions TEXT[] DEFAULT '{}',
  ADD router_settings JSONB DEFAULT '{}', ADD policies TEXT[] DEFAULT '{}', ADD soft_budget DOUBLE PRECISION,
  ADD allow_team_guardrail_config BOOLEAN NOT NULL DEFAULT false, ADD access_group_ids TEXT[] DEFAULT '{}';

ALTER TABLE "LiteLLM_UserTable" ADD object_permission_id TEXT, ADD policies TEXT[] DEFAULT '{}';

ALTER TABLE "LiteLLM_VerificationToken" ADD object_permission_id TEXT, ADD project_id TEXT, ADD router_settings JSONB DEFAULT '{}',
  ADD allowed_routes TEXT[] DEFAULT '{}', ADD policies TEXT[] DEFAULT '{}', ADD access_group_ids TEXT[] DEFAULT '{}',
  ADD rotation_count INTEGER DEFAULT 0, ADD auto_rotate BOOLEAN DEFAULT false, ADD rotation_interval TEXT,
  ADD last_rotation_at TIMESTAMP(3), ADD key_rotation_at TIMESTAMP(3);

ALTER TABLE "LiteLLM_SpendLogs" ADD session_id TEXT, ADD status TEXT, ADD mcp_namespaced_tool_name TEXT, ADD organization_id TEXT,
  ADD agent_id TEXT, ADD proxy_server_request JSONB DEFAULT '{}';

ALTER TABLE "LiteLLM_DailyUserSpend" ALTER user_id DROP NOT NULL, ALTER model DROP NOT NULL,
  ALTER prompt_tokens TYPE BIGINT, ALTER completion_tokens TYPE BIGINT, ALTER api_requests TYPE BIGINT,
  ADD mcp_namespaced_tool_name TEXT, ADD endpoint TEXT,
  ADD cache_read_input_tokens BIGINT NOT NULL DEFAULT 0, ADD cache_creation_input_tokens BIGINT NOT NULL DEFAULT 0,
  ADD successful_requests BIGINT NOT NULL DEFAULT 0, ADD failed_requests BIGINT NOT NULL DEFAULT 0,
  DROP CONSTRAINT daily_user_spend_key,
  ADD UNIQUE (user_id, date, api_key, model, custom_llm_provider, mcp_namespaced_tool_name, endpoint);

CREATE TABLE "LiteLLM_DailyTeamSpend" (
  id TEXT PRIMARY KEY, team_id TEXT, date TEXT NOT NULL, api_key TEXT NOT NULL, model TEXT, model_group TEXT,
  custom_llm_provider TEXT, mcp_namespaced_tool_name TEXT, endpoint TEXT,
  prompt_tokens BIGINT NOT NULL DEFAULT 0, completion_tokens BIGINT NOT NULL DEFAULT 0,
  cache_read_input_tokens BIGINT NOT NULL DEFAULT 0, cache_creation_input_tokens BIGINT NOT NULL DEFAULT 0,
  spend DOUBLE PRECISION NOT NULL DEFAULT 0, api_requests BIGINT NOT NULL DEFAULT 0,
  successful_requests BIGINT NOT NULL DEFAULT 0, failed_requests BIGINT NOT NULL DEFAULT 0,
  created_at TIMESTAMP(3) NOT NULL DEFAULT now(), updated_at TIMESTAMP(3) NOT NULL,
  UNIQUE (team_id, date, api_key, model, custom_llm_provider, mcp_namespaced_tool_name, endpoint));

CREATE TABLE "LiteLLM_DeprecatedVerificationToken" (
  id TEXT PRIMARY KEY, token TEXT NOT NULL UNIQUE, active_token_id TEXT NOT NULL, revoke_at TIMESTAMP(3) NOT NULL,
  created_at TIMESTAMP(3) NOT NULL DEFAULT now());

-- A copy of the key's row, when it was deleted and by whom. created_at and updated_at are the key's own.
CREATE TABLE "LiteLLM_DeletedVerificationToken" (
  id TEXT PRIMARY KEY, LIKE "LiteLLM_VerificationToken" INCLUDING DEFAULTS,
  deleted_at TIMESTAMP(3) NOT NULL DEFAULT now(), deleted_by TEXT, deleted_by_api_key TEXT, litellm_changed_by TEXT);
ALTER TABLE "LiteLLM_DeletedVerificationToken" ALTER created_at DROP DEFAULT, ALTER updated_at DROP DEFAULT;

CREATE TABLE "LiteLLM_AccessGroupTable" (
  access_group_id TEXT PRIMARY KEY, access_group_name TEXT NOT NULL UNIQUE, description TEXT,
  access_model_ids TEXT[] DEFAULT '{}', access_mcp_server_ids TEXT[] DEFAULT '{}', access_agent_ids TEXT[] DEFAULT '{}',
  assigned_team_ids TEXT[] DEFAULT '{}', assigned_key_ids TEXT[] DEFAULT '{}',
  created_at TIMESTAMP(3) NOT NULL DEFAULT now(), created_by TEXT, updated_at TIMESTAMP(3) NOT NULL DEFAULT now(), updated_by TEXT);

CREATE TABLE "LiteLLM_ObjectPermissionTable" (
  object_permission_id TEXT PRIMARY KEY, mcp_servers TEXT[] DEFAULT '{}', mcp_access_groups TEXT[] DEFAULT '{}',
  mcp_tool_permissions JSONB, vector_stores TEXT[] DEFAULT '{}', agents TEXT[] DEFAULT '{}', agent_access_groups TEXT[] DEFAULT '{}');

CREATE TABLE "LiteLLM_MCPServerTable" (
  server_id TEXT PRIMARY KEY, server_name TEXT, alias TEXT, description TEXT, url TEXT, transport TEXT NOT NULL DEFAULT 'sse',
  auth_type TEXT, credentials JSONB DEFAULT '{}', created_at TIMESTAMP(3) DEFAULT now(), created_by TEXT,
  updated_at TIMESTAMP(3) DEFAULT now(), updated_by TEXT, mcp_info JSONB DEFAULT '{}', mcp_access_groups TEXT[],
  allowed_tools TEXT[] DEFAULT '{}', extra_headers TEXT[] DEFAULT '{}', static_headers JSONB DEFAULT '{}',
  status TEXT DEFAULT 'unknown', last_health_check TIMESTAMP(3), health_check_error TEXT,
  command TEXT, args TEXT[] DEFAULT '{}', env JSONB DEFAULT '{}',
  authorization_url TEXT, token_url TEXT, registration_url TEXT,
  allow_all_keys BOOLEAN NOT NULL DEFAULT false, available_on_public_internet BOOLEAN NOT NULL DEFAULT false);

CREATE TABLE "LiteLLM_GuardrailsTable" (
  guardrail_id TEXT PRIMARY KEY, guardrail_name TEXT NOT NULL UNIQUE, litellm_params JSONB NOT NULL, guardrail_info JSONB,
  created_at TIMESTAMP(3) NOT NULL DEFAULT now(), updated_at TIMESTAMP(3) NOT NULL);

CREATE TABLE "LiteLLM_ManagedVectorStoresTable" (
  vector_store_id TEXT PRIMARY KEY, custom_llm_provider TEXT NOT NULL, vector_store_name TEXT, vector_store_description TEXT,
  vector_store_metadata JSONB, created_at TIMESTAMP(3) NOT NULL DEFAULT now(), updated_at TIMESTAMP(3) NOT NULL,
  litellm_credential_name TEXT, litellm_params JSONB, team_id TEXT, user_id TEXT);

CREATE TABLE "LiteLLM_PromptTable" (
  id TEXT PRIMARY KEY, prompt_id TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 1, litellm_params JSONB NOT NULL, prompt_info JSONB,
  created_at TIMESTAMP(3) NOT NULL DEFAULT now(), updated_at TIMESTAMP(3) NOT NULL);

CREATE TABLE "LiteLLM_AgentsTable" (
  agent_id TEXT PRIMARY KEY, agent_name TEXT NOT NULL UNIQUE, litellm_params JSONB, agent_card_params JSONB NOT NULL,
  agent_access_groups TEXT[] DEFAULT '{}', created_at TIMESTAMP(3) NOT NULL DEFAULT now(), created_by TEXT NOT NULL,
  updated_at TIMESTAMP(3) NOT NULL DEFAULT now(), updated_by TEXT NOT NULL);

CREATE TABLE "LiteLLM_TagTable" (
  tag_name TEXT PRIMARY KEY, description TEXT, models TEXT[], model_info JSONB, spend DOUBLE PRECISION NOT NULL DEFAULT 0, budget_id TEXT,
  created_at TIMESTAMP(3) NOT NULL DEFAULT now(), created_by TEXT, updated_at TIMESTAMP(3) NOT NULL DEFAULT now());

CREATE TABLE "LiteLLM_ProjectTable" (
  project_id TEXT PRIMARY KEY, project_alias TEXT, description TEXT, team_id TEXT, budget_id TEXT,
  metadata JSONB NOT NULL DEFAULT '{}', models TEXT[], spend DOUBLE PRECISION NOT NULL DEFAULT 0, model_spend JSONB NOT NULL DEFAULT '{}',
  model_rpm_limit JSONB NOT NULL DEFAULT '{}', model_tpm_limit JSONB NOT NULL DEFAULT '{}', blocked BOOLEAN NOT NULL DEFAULT false,
  object_permission_id TEXT, created_at TIMESTAMP(3) NOT NULL DEFAULT now(), created_by TEXT NOT NULL,
  updated_at TIMESTAMP(3) NOT NULL DEFAULT now(), updated_by TEXT NOT NULL);
