/*
 * Guava's BloomFilter, live: lines of commands on standard input, an answer for each on standard output.
 *
 *   build N P FUNNEL FILE KEYS   a filter of the lines of KEYS, sized for N keys at the rate P
 *   ask FUNNEL FILE KEYS         one digit for each line of KEYS: 1 is maybe
 *
 * FUNNEL is bytes (lines are hexadecimal), string, chars, long or int.
 */
import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnel;
import com.google.common.hash.Funnels;
import com.google.common.io.BaseEncoding;
import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.List;

public class GuavaOracle {
  @SuppressWarnings("unchecked")
  static Funnel<Object> funnel(String name) {
    Funnel<?> f;
    switch (name) {
      case "bytes": f = Funnels.byteArrayFunnel(); break;
      case "string": f = Funnels.stringFunnel(StandardCharsets.UTF_8); break;
      case "chars": f = Funnels.unencodedCharsFunnel(); break;
      case "long": f = Funnels.longFunnel(); break;
      case "int": f = Funnels.integerFunnel(); break;
      default: throw new IllegalArgumentException(name);
    }
    return (Funnel<Object>) f;
  }

  static Object key(String funnel, String line) {
    switch (funnel) {
      case "bytes": return BaseEncoding.base16().lowerCase().decode(line);
      case "long": return Long.valueOf(line);
      case "int": return Integer.valueOf(line);
      default: return line;
    }
  }

  static List<String> lines(String path) throws Exception {
    return Files.readAllLines(Paths.get(path), StandardCharsets.UTF_8);
  }

  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      String[] word = line.split(" ");
      if (word[0].equals("build")) {
        BloomFilter<Object> f = BloomFilter.create(funnel(word[3]), Long.parseLong(word[1]), Double.parseDouble(word[2]));
        for (String text : lines(word[5])) f.put(key(word[3], text));
        try (OutputStream out = new FileOutputStream(word[4])) {
          f.writeTo(out);
        }
        System.out.println("built");
      } else {
        StringBuilder answers = new StringBuilder();
        try (InputStream file = new FileInputStream(word[2])) {
          BloomFilter<Object> f = BloomFilter.readFrom(file, funnel(word[1]));
          for (String text : lines(word[3])) answers.append(f.mightContain(key(word[1], text)) ? '1' : '0');
        }
        System.out.println(answers);
      }
    }
  }
}
