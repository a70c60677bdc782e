"""One module per job of the catalogue: topology only, `build(events, settings) -> DataFrame`."""
