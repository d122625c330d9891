import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.h2.H2Backend;

/** A server for tests that speaks MongoDB's protocol. Arguments: the port to listen on, and the file of its data. */
public class MongoLauncher {
    public static void main(String[] args) {
        MongoServer server = new MongoServer(new H2Backend(args[1]));
        // On SIGTERM: closing the server writes what its file does not hold yet.
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdownNow));
        try {
            server.bind("127.0.0.1", Integer.parseInt(args[0]));
        } catch (Exception error) {
            error.printStackTrace();
            System.exit(1);
        }
    }
}
