#!/bin/sh
# Starts the S3 server; its one bucket is a folder. What others may read on the disk it gives to whoever asks, without a
# key: so nothing is for others.
set -eu
umask 077
mkdir -p /var/lib/kappa/data/kappa
exec java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -jar /opt/s3/s3proxy-*.jar --properties /run/kappa/s3.properties
