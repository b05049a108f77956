// Command modelgateway is a gateway with the APIs of OpenAI and Anthropic in front of
// many model providers.
package main

import "modelgateway/app/cli"

func main() { cli.Main() }
