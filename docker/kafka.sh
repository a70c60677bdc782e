#!/bin/sh
# Starts broker number $1, which is a controller, too; formats its storage at the first start.
set -eu
properties=/run/kappa/server-$1.properties
if [ ! -f /var/lib/kappa/data/meta.properties ]; then
    java -Xmx128m -XX:+UseSerialGC -cp '/opt/kafka/*' kafka.tools.StorageTool format --ignore-formatted \
        -t "$(cat /run/kappa/kafka-cluster-id)" -c "$properties"
fi
exec java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
    -Dlog4j2.configurationFile=file:///run/kappa/log4j2.yaml -cp '/opt/kafka/*' kafka.Kafka "$properties"
