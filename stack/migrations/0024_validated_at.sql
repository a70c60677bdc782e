-- Who promotes by hand agrees to what the validation found, so nobody does who asked for it earlier than that.

alter table registry.replay add column validated_at timestamptz;
grant update (validated_at) on registry.replay to kappa_registry;
