import java.util.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Writes records to a topic in transactions, as Apache's own client does, and aborts some of them. Prints how many it committed.
 *
 * usage: java -cp JARS Transact.java HOST:PORT TOPIC PARTITIONS TRANSACTIONS RECORDS_EACH ABORTED_PERCENT SEED PAUSE_MS [end-aborted]
 */
public class Transact {
  public static void main(String[] args) throws Exception {
    int partitions = Integer.parseInt(args[2]), transactions = Integer.parseInt(args[3]), each = Integer.parseInt(args[4]);
    int aborted = Integer.parseInt(args[5]), pauseMs = Integer.parseInt(args[7]);
    boolean endsAborted = args.length > 8;
    var random = new Random(Long.parseLong(args[6]));
    var settings = new HashMap<String, Object>();
    settings.put("bootstrap.servers", args[0]);
    settings.put("transactional.id", "chaos-" + args[1]);
    settings.put("linger.ms", "2");
    int id = 0, committed = 0;
    try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
      producer.initTransactions();
      for (int n = 0; n < transactions; n++) {
        boolean isAborted = random.nextInt(100) < aborted || (endsAborted && n == transactions - 1);
        producer.beginTransaction();
        for (int i = 0; i < each; i++, id++)
          producer.send(new ProducerRecord<>(args[1], id % partitions, null, "{\"id\":" + id + ",\"text\":\"message " + id + (isAborted ? " aborted" : "") + "\"}"));
        producer.flush();
        if (isAborted) producer.abortTransaction();
        else {
          producer.commitTransaction();
          committed += each;
        }
        Thread.sleep(pauseMs);
      }
    }
    System.out.println(committed);
  }
}
