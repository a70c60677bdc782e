#!/bin/sh
# Starts Spark's master or a worker, by the first argument; the secret by which they know each other is in a file.
set -eu
address=$(hostname -i | cut -d ' ' -f 1)
common="-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
# Whoever does not encrypt is not spoken to.
common="$common -Dspark.network.crypto.enabled=true -Dspark.network.crypto.saslFallback=false"
# A worker that is silent for so many seconds is lost. Workers are told, too: they give word four times as often.
common="$common -Dspark.worker.timeout=20 -Dspark.ui.killEnabled=false"
mkdir -p /kappa/state/spark
case $1 in
    master)
        # What it knows of workers and drivers outlives its process: a master that is started again goes on with them.
        (umask 077 && mkdir -p /kappa/state/spark-master)
        set -- -Dspark.deploy.recoveryMode=FILESYSTEM -Dspark.deploy.recoveryDirectory=/kappa/state/spark-master \
            -Dspark.dead.worker.persistence=4320 \
            -Dspark.master.rest.enabled=true -Dspark.master.rest.host=0.0.0.0 -Dspark.master.rest.port=6066 \
            -Dspark.master.ui.decommission.allow.mode=DENY -cp "$SPARK_HOME/jars/*" \
            org.apache.spark.deploy.master.Master --properties-file /run/kappa/spark-master.properties \
            --host "$SPARK_MASTER_NAME" --port 7077 --webui-port 8080
        ;;
    worker)
        # Each worker is found by its own address: there may be several of one name.
        export SPARK_LOCAL_IP="$address"
        set -- -Dspark.worker.cleanup.enabled=true -Dspark.worker.cleanup.interval=600 \
            -Dspark.worker.cleanup.appDataTtl=2592000 -cp "$SPARK_HOME/jars/*" \
            org.apache.spark.deploy.worker.Worker --properties-file /run/kappa/spark-worker.properties \
            --host "$address" --port 7078 --webui-port 8081 --cores "$SPARK_WORKER_CORES" \
            --memory "$SPARK_WORKER_MEMORY" --work-dir /kappa/state/spark "spark://$SPARK_MASTER_NAME:7077"
        ;;
esac
# shellcheck disable=SC2086
exec java $common "$@"
