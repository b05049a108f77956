package litellm

// remedy is a feature of LiteLLM that the gateway does not have, and what to use instead.
type remedy struct {
	thing, instead string
	notice         bool   // nothing is lost without it
	members        string // of the configuration
	tables         string // of the database
	where          string // the condition of the rows that count; empty: all do
}

// takenMembers are the members of the configuration that are read.
const takenMembers = `master_key num_retries timeout request_timeout stream_timeout global_max_parallel_requests max_request_size_mb
	drop_params max_budget budget_duration fallbacks default_fallbacks model_group_alias model_alias_map`

func remedies() []remedy {
	return []remedy{
		{thing: "settings of LiteLLM's own database, logs and caches", instead: "nothing", notice: true,
			members: `set_verbose json_logs debug_level database_url database_connection_pool_limit database_connection_timeout
				store_model_in_db disable_prisma_schema_update proxy_batch_write_at telemetry litellm_license
				proxy_budget_rescheduler_min_time proxy_budget_rescheduler_max_time infer_model_from_keys client_ttl
				user_api_key_cache_ttl supported_db_objects encryption_algorithm disable_master_key_return
				disable_adding_master_key_hash_to_db enable_pre_call_checks background_health_checks health_check_interval
				ignore_invalid_deployments modify_params enable_preview_features`},
		{thing: "routing strategies, cooldowns, and retries by error", instead: "weights of upstreams, and circuits: docs/reliability.md",
			notice: true,
			members: `allowed_fails allowed_fails_policy cooldown_time disable_cooldowns retry_policy model_group_retry_policy
				retry_after routing_strategy routing_strategy_args max_fallbacks`},
		{thing: "fallbacks for prompts that are too long", instead: "they stand behind the others, for every failure", notice: true,
			members: "context_window_fallbacks"},
		{thing: "Redis", instead: "set REDIS_URL", notice: true,
			members: "redis_host redis_port redis_password redis_url redis_db redis_ssl"},
		{thing: "callbacks and logs", instead: "use /metrics, OpenTelemetry and the ledger: docs/operations.md",
			members: `success_callback failure_callback callbacks service_callbacks callback_settings turn_off_message_logging
				redact_user_api_key_info langfuse_default_tags s3_callback_params store_prompts_in_spend_logs`},
		{thing: "alerts", instead: "set ALERT_WEBHOOK_URL or ALERT_EMAIL",
			members: `alerting alerting_threshold alerting_args alert_types alert_to_webhook_url spend_report_frequency
				alerting_config`},
		{thing: "caches of answers", instead: "use the prompt caches of the providers",
			members: "cache cache_params cache_responses cache_kwargs caching_groups"},
		{thing: "guardrails", instead: "call them before the gateway, or use those of Bedrock: docs/clouds.md",
			members: "guardrails guardrail_list policies",
			tables:  "GuardrailsTable PolicyTable"},
		{thing: "MCP servers and agents", instead: "let the programs connect to them, or keep LiteLLM for them alone",
			members: "mcp_servers mcp_aliases mcp_tools mcp_settings agent_list",
			tables:  "MCPServerTable MCPToolsetTable AgentsTable"},
		{thing: "prompts, vector stores and search tools", instead: "keep them in the application",
			members: "prompts vector_store_registry vector_store search_tools assistant_settings files_settings finetune_settings",
			tables:  "PromptTable ManagedVectorStoresTable SearchToolsTable"},
		{thing: "pass-through endpoints", instead: "call the provider itself",
			members: "pass_through_endpoints use_client_credentials_pass_through_routes"},
		{thing: "rules of who may call", instead: "use a proxy before the gateway, or an identity provider: docs/sign-in.md",
			members: `allowed_ips custom_auth enable_jwt_auth litellm_jwtauth enable_oauth2_auth enable_oauth2_proxy_auth custom_sso
				allowed_routes admin_only_routes public_routes custom_key_generate key_generation_settings enforce_user_param
				enforced_params litellm_key_header_name`},
		{thing: "limits that all have", instead: "set DEFAULT_USER_… and DEFAULT_KEY_…: docs/configuration.md",
			members: `default_internal_user_params max_internal_user_budget internal_user_budget_duration default_key_generate_params
				upperbound_key_generate_params default_team_settings default_team_params max_end_user_budget
				max_parallel_requests default_max_parallel_requests`},
		{thing: "secrets in a vault", instead: "let the vault write files, and set NAME_FILE to the path of each",
			members: "key_management_system key_management_settings use_azure_key_vault use_google_kms"},
		{thing: "fallbacks after a refusal", instead: "let the client ask another model: a refusal is the answer here",
			members: "content_policy_fallbacks"},
		{thing: "other files", instead: "put them into one, and run again", members: "include"},
		{thing: "projects with limits", instead: "use a team for each, or the header x-gateway-project to tell their usage apart",
			tables: "ProjectTable"},
		{thing: "budgets of tags", instead: "use a team or a key for each", tables: "TagTable", where: "budget_id IS NOT NULL"},
		{thing: "budgets and blocks of end users (customers)", instead: "give each its own key, or check them in the application",
			tables: "EndUserTable", where: "budget_id IS NOT NULL OR blocked"},
		{thing: "keys chosen by the claims of a JWT", instead: "let the program send the key", tables: "JWTKeyMapping"},
	}
}
