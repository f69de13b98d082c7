package org.smdebug.example;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Fisher's irises: four measures of 150 flowers of three kinds.
 *
 * @param measures 150 x 4, each column with mean 0 and deviation 1
 * @param kinds 150 numbers from 0 to 2
 */
record Iris(NDArray measures, NDArray kinds) {
  private static final int COLUMNS = 4;

  static Iris read(NDManager manager) throws IOException {
    List<String> lines;
    try (BufferedReader reader =
        new BufferedReader(
            new InputStreamReader(
                Iris.class.getResourceAsStream("/iris.csv"), StandardCharsets.UTF_8))) {
      lines = reader.lines().skip(1).toList();
    }
    float[] measures = new float[COLUMNS * lines.size()];
    float[] kinds = new float[lines.size()];
    for (int row = 0; row < lines.size(); ++row) {
      String[] cells = lines.get(row).split(",");
      for (int column = 0; column < COLUMNS; ++column) {
        measures[COLUMNS * row + column] = Float.parseFloat(cells[column]);
      }
      kinds[row] = Float.parseFloat(cells[COLUMNS]);
    }
    NDArray raw = manager.create(measures, new Shape(lines.size(), COLUMNS));
    NDArray centered = raw.sub(raw.mean(new int[] {0}));
    NDArray deviation = centered.square().mean(new int[] {0}).sqrt();
    return new Iris(centered.div(deviation), manager.create(kinds));
  }
}
