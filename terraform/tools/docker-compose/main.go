// The command docker compose, where a machine has the docker command without it.
package main

import (
	"os"

	"github.com/docker/cli/cli-plugins/metadata"
	"github.com/docker/cli/cli-plugins/plugin"
	"github.com/docker/cli/cli/command"
	"github.com/docker/compose/v2/cmd/compatibility"
	commands "github.com/docker/compose/v2/cmd/compose"
	"github.com/docker/compose/v2/cmd/prompt"
	"github.com/docker/compose/v2/pkg/compose"
	"github.com/spf13/cobra"
)

const version = "2.40.3"

func main() {
	if plugin.RunningStandalone() {
		os.Args = append([]string{"docker"}, compatibility.Convert(os.Args[1:])...)
	}
	root := func(cli command.Cli) *cobra.Command {
		asked := compose.WithPrompt(prompt.NewPrompt(cli.In(), cli.Out()).Confirm)
		return commands.RootCommand(cli, compose.NewComposeService(cli, asked))
	}
	about := metadata.Metadata{SchemaVersion: "0.1.0", Vendor: "Docker Inc.", Version: version}
	plugin.Run(root, about, command.WithUserAgent("compose/"+version))
}
