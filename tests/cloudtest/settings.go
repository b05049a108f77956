package cloudtest

import "testing"

// Settings switch Bedrock on at the stand-in.
func (a *AWS) Settings() []string {
	return []string{"BEDROCK_REGION=" + Region, "BEDROCK_BASE_URL=" + a.URL}
}

// Credentials are variables of Amazon's own programs.
func (a *AWS) Credentials() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + SecretAccessKey}
}

// Settings switch Vertex AI on at the stand-in.
func (g *Google) Settings() []string {
	return []string{"VERTEX_PROJECT=" + Project, "VERTEX_LOCATION=global", "VERTEX_BASE_URL=" + g.URL}
}

// Credentials are variables of Google's own programs.
func (g *Google) Credentials(t testing.TB) []string {
	return []string{"GOOGLE_APPLICATION_CREDENTIALS=" + g.ServiceAccount(t)}
}

// Settings switch Azure OpenAI and Foundry on at the stand-in.
func (a *Azure) Settings() []string {
	return []string{"AZURE_OPENAI_BASE_URL=" + a.URL + "/openai/v1", "AZURE_FOUNDRY_BASE_URL=" + a.URL + "/anthropic"}
}

// Credentials are variables of Microsoft's own programs.
func (a *Azure) Credentials() []string {
	return []string{"AZURE_TENANT_ID=" + Tenant, "AZURE_CLIENT_ID=" + ClientID, "AZURE_CLIENT_SECRET=" + ClientSecret}
}
