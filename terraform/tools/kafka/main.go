// The provider Mongey/kafka, served from a module of our own: `go install` refuses the published one for its `replace`.
package main

import (
	"github.com/Mongey/terraform-provider-kafka/kafka"
	"github.com/hashicorp/terraform-plugin-sdk/v2/plugin"
)

func main() {
	plugin.Serve(&plugin.ServeOpts{ProviderFunc: kafka.Provider})
}
