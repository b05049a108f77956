-- What was added from the middle of February 2026 on.

ALTER TABLE "LiteLLM_BudgetTable" ADD allowed_models TEXT[] DEFAULT '{}';
ALTER TABLE "LiteLLM_ProxyModelTable" ADD blocked BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "LiteLLM_TeamTable" ADD default_team_member_models TEXT[] DEFAULT '{}', ADD budget_limits JSONB;
ALTER TABLE "LiteLLM_VerificationToken" ADD agent_id TEXT, ADD last_active TIMESTAMP(3), ADD budget_limits JSONB;
ALTER TABLE "LiteLLM_DeletedVerificationToken" ADD agent_id TEXT, ADD last_active TIMESTAMP(3);
ALTER TABLE "LiteLLM_EndUserTable" ADD object_permission_id TEXT;
ALTER TABLE "LiteLLM_SpendLogs" ADD request_duration_ms INTEGER;
ALTER TABLE "LiteLLM_TeamMembership" ADD total_spend DOUBLE PRECISION NOT NULL DEFAULT 0;

-- Models of an access group are named, no longer referred to by id.
ALTER TABLE "LiteLLM_AccessGroupTable" RENAME access_model_ids TO access_model_names;

ALTER TABLE "LiteLLM_ObjectPermissionTable" ADD models TEXT[] DEFAULT '{}', ADD blocked_tools TEXT[] DEFAULT '{}',
  ADD mcp_toolsets TEXT[] DEFAULT '{}', ADD search_tools TEXT[] DEFAULT '{}';

ALTER TABLE "LiteLLM_MCPServerTable" ADD instructions TEXT, ADD spec_path TEXT, ADD tool_name_to_display_name JSONB DEFAULT '{}',
  ADD tool_name_to_description JSONB DEFAULT '{}', ADD header_variables JSONB DEFAULT '[]',
  ALTER available_on_public_internet SET DEFAULT true, ADD delegate_auth_to_upstream BOOLEAN NOT NULL DEFAULT false,
  ADD is_byok BOOLEAN NOT NULL DEFAULT false, ADD byok_description TEXT[] DEFAULT '{}', ADD byok_api_key_help_url TEXT,
  ADD source_url TEXT, ADD approval_status TEXT DEFAULT 'active', ADD submitted_by TEXT, ADD submitted_at TIMESTAMP(3),
  ADD reviewed_at TIMESTAMP(3), ADD review_notes TEXT;

ALTER TABLE "LiteLLM_GuardrailsTable" ADD team_id TEXT, ADD status TEXT NOT NULL DEFAULT 'active',
  ADD submitted_at TIMESTAMP(3), ADD reviewed_at TIMESTAMP(3);

ALTER TABLE "LiteLLM_PromptTable" ADD environment TEXT NOT NULL DEFAULT 'development', ADD created_by TEXT;

ALTER TABLE "LiteLLM_AgentsTable" ADD static_headers JSONB DEFAULT '{}', ADD extra_headers TEXT[] DEFAULT '{}',
  ADD object_permission_id TEXT, ADD spend DOUBLE PRECISION NOT NULL DEFAULT 0, ADD tpm_limit INTEGER, ADD rpm_limit INTEGER,
  ADD session_tpm_limit INTEGER, ADD session_rpm_limit INTEGER;
