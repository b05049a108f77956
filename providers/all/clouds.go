package all

import (
	"strings"

	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/internal/cloudnames"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/bedrock"
	"modelgateway/providers/login"
	"modelgateway/providers/vertex"
)

// clouds sell the models of several vendors, and have log-ins of their own.
func clouds() []providers.Preset {
	return []providers.Preset{
		{
			ProviderSettings: config.ProviderSettings{
				Name: "bedrock", Title: "Amazon Bedrock", Prefix: "BEDROCK", Models: "Amazon Bedrock", Login: true,
				Key:   "AWS_BEARER_TOKEN_BEDROCK",
				Cloud: &config.Cloud{Region: "BEDROCK_REGION", Usual: []string{"AWS_REGION", "AWS_DEFAULT_REGION"}},
			},
			Type: catalog.Anthropic, OTelName: "aws.bedrock", Owner: atBedrock, Regional: regionalAtBedrock,
			Rules: []catalog.Rule{{Match: []string{"*embed*"}, Traits: catalog.Traits{Kind: llm.KindEmbedding}}},
			Sign:  providers.SignBearer, Login: aws, New: bedrock.New,
		},
		{
			ProviderSettings: config.ProviderSettings{
				Name: "vertex", Title: "Vertex AI", Prefix: "VERTEX", Models: "Vertex AI", Login: true,
				Cloud: &config.Cloud{Region: "VERTEX_LOCATION", DefaultRegion: "global", Project: "VERTEX_PROJECT"},
			},
			Type: catalog.Gemini, OTelName: "gcp.vertex_ai", Owner: atVertex, Regional: regionalAtVertex,
			Sign: providers.SignHeader("X-Goog-Api-Key"), Login: google, New: vertex.New,
		},
		{
			ProviderSettings: onAzure("azure", "Azure OpenAI", "AZURE_OPENAI"), Type: catalog.OpenAI, OTelName: "azure.ai.openai",
			Facts: catalog.OpenAI, Sign: providers.SignHeader("api-key"), Login: azure(azureOpenAI),
			// Its list has the models of the region, and calls name deployments.
			Server: providers.Server{ListsNone: true},
		},
		{
			ProviderSettings: onAzure("foundry", "Claude on Microsoft Foundry", "AZURE_FOUNDRY"), Type: catalog.Anthropic,
			OTelName: "azure.ai.inference", Facts: catalog.Anthropic, Sign: providers.SignHeader("X-Api-Key"), Login: azure(azureFoundry),
			Server: providers.Server{ListsNone: true},
		},
	}
}

func onAzure(name, title, prefix string) config.ProviderSettings {
	return config.ProviderSettings{Name: name, Title: title, Prefix: prefix, Models: title, Version: "/v1", Login: true, Keyless: true}
}

// logins are the clouds' log-ins by their names in auth of the models file.
func logins() map[string]providers.Login {
	return map[string]providers.Login{"aws": aws, "google": google, "azure": azure(azureOpenAI)}
}

// The scopes of Entra's tokens.
const azureOpenAI, azureFoundry = "https://cognitiveservices.azure.com/.default", "https://ai.azure.com/.default"

// aws signs calls with Amazon's credentials.
func aws(a catalog.Account, secret config.Secret) (providers.LogIn, error) {
	return login.NewAWS(login.AWS{
		Region: a.Region, Profile: a.Profile, AccessKeyID: a.AccessKeyID, SecretAccessKey: secret,
		Role: a.Role, ExternalID: a.ExternalID, Tags: a.Tags,
	})
}

// google sends tokens of Google's.
func google(a catalog.Account, _ config.Secret) (providers.LogIn, error) {
	return login.NewGoogle(login.Google{CredentialsFile: a.File})
}

// azure sends tokens of Entra for a service.
func azure(scope string) providers.Login {
	return func(a catalog.Account, secret config.Secret) (providers.LogIn, error) {
		return login.NewAzure(login.Azure{
			Tenant: a.Tenant, ClientID: a.ClientID, ClientSecret: secret, FederatedTokenFile: a.TokenFile,
			ManagedIdentity: a.ManagedIdentity, AuthorityHost: a.AuthorityHost, Scope: scope,
		})
	}
}

// atBedrock is Preset.Owner of Bedrock, which prices all models but Claude itself.
func atBedrock(id string) (provider, name string) {
	switch vendor, name := cloudnames.Family(id); vendor {
	case "":
		return "", ""
	case catalog.Anthropic:
		return vendor, name
	}
	return "bedrock", cloudnames.Base(id)
}

// regionalAtBedrock is Preset.Regional of Bedrock: all calls but those of global profiles stay in
// a region, as https://aws.amazon.com/bedrock/pricing said in November 2026.
func regionalAtBedrock(region, id string) bool {
	return cloudnames.Premium(id) && !strings.Contains(cloudnames.ID(region, id), "global.")
}

// atVertex is Preset.Owner of Vertex AI, which prices the models of open weights itself.
func atVertex(id string) (provider, name string) {
	vendor, name := cloudnames.Family(id)
	switch {
	case vendor == catalog.Anthropic:
		return vendor, name
	case strings.Contains(id, "/"):
		return "vertex", id
	}
	return catalog.Gemini, id
}

// regionalAtVertex is Preset.Regional of Vertex AI, as
// https://cloud.google.com/vertex-ai/generative-ai/pricing said in November 2026.
func regionalAtVertex(region, id string) bool { return region != "global" && cloudnames.Premium(id) }
