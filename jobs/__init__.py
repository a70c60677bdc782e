"""The Spark side: catalogue, settings, transforms, pipelines, sources, sinks and the driver program."""
