import java.time.Duration;
import java.util.*;
import java.util.stream.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Prints every record of a topic that a read-committed reader sees, up to the ends at the start: partition, offset, timestamp in ms,
 * key, value and headers, separated by tabs; key and value in base64, or - for null; headers as NAME=VALUE, both so, separated by commas.
 *
 * usage: java -cp JARS Consume.java HOST:PORT TOPIC
 */
public class Consume {
  public static void main(String[] args) {
    var settings = new HashMap<String, Object>();
    settings.put("bootstrap.servers", args[0]);
    settings.put("isolation.level", "read_committed");
    settings.put("enable.auto.commit", "false");
    var bytes = new ByteArrayDeserializer();
    var out = new java.io.PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false);
    var buffered = new java.io.PrintWriter(new java.io.BufferedWriter(new java.io.OutputStreamWriter(out), 1 << 16));
    try (var consumer = new KafkaConsumer<>(settings, bytes, bytes)) {
      var partitions = consumer.partitionsFor(args[1]).stream()
          .map(info -> new TopicPartition(info.topic(), info.partition())).collect(Collectors.toList());
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      var ends = consumer.endOffsets(partitions);
      while (partitions.stream().anyMatch(partition -> consumer.position(partition) < ends.get(partition))) {
        for (var record : consumer.poll(Duration.ofMillis(500))) {
          buffered.println(record.partition() + "\t" + record.offset() + "\t" + record.timestamp() + "\t"
              + text(record.key()) + "\t" + text(record.value()) + "\t" + headers(record.headers()));
        }
      }
    }
    buffered.flush();
  }

  static String headers(org.apache.kafka.common.header.Headers headers) {
    return Arrays.stream(headers.toArray())
        .map(header -> text(header.key().getBytes(java.nio.charset.StandardCharsets.UTF_8)) + "=" + text(header.value()))
        .collect(Collectors.joining(","));
  }

  static String text(byte[] bytes) {
    return bytes == null ? "-" : Base64.getEncoder().encodeToString(bytes);
  }
}
