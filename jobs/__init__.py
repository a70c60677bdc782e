"""The Spark side: sources, transforms, pipelines, sinks, and the programs that Spark runs."""
