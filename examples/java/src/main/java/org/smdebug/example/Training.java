package org.smdebug.example;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.initializer.NormalInitializer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.util.Pair;
import java.io.IOException;
import java.nio.file.Path;
import org.smdebug.DType;
import org.smdebug.Hook;
import org.smdebug.Mode;
import org.smdebug.SaveConfig;

/** Trains a network on the irises and records weights, gradients and loss. */
final class Training {
  private static final int STEPS = 200;
  private static final int SEED = 1;

  private final Path folder;
  private final SequentialBlock layers = new SequentialBlock();
  private final float weightDeviation;

  private Training(Path folder, float weightDeviation) {
    this.folder = folder;
    this.weightDeviation = weightDeviation;
  }

  /** Creates a network with one hidden layer. */
  static Training sound(Path folder) {
    Training training = new Training(folder, 0.5f);
    training.layers.add(Linear.builder().setUnits(16).build()).add(Activation::tanh);
    training.layers.add(Linear.builder().setUnits(3).build());
    return training;
  }

  /** Creates many sigmoid layers with initial weights so small that almost no gradient passes. */
  static Training ill(Path folder) {
    Training training = new Training(folder, 0.1f);
    for (int i = 0; i < 6; ++i) {
      training.layers.add(Linear.builder().setUnits(16).build()).add(Activation::sigmoid);
    }
    training.layers.add(Linear.builder().setUnits(3).build());
    return training;
  }

  /** Returns the fraction of flowers whose kind the trained network recognizes. */
  float run() throws IOException {
    Engine.getInstance().setRandomSeed(SEED);
    try (Model model = Model.newInstance("iris");
        Hook hook =
            Hook.builder(folder.toString())
                .includeCollections("weights", "gradients")
                .saveConfig(SaveConfig.every(10))
                .build()) {
      model.setBlock(layers);
      DefaultTrainingConfig config =
          new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
              .optDevices(new Device[] {Device.cpu()})
              .optInitializer(new NormalInitializer(weightDeviation), Parameter.Type.WEIGHT)
              .optOptimizer(Optimizer.sgd().setLearningRateTracker(Tracker.fixed(0.5f)).build());
      try (Trainer trainer = model.newTrainer(config)) {
        Iris iris = Iris.read(trainer.getManager());
        trainer.initialize(new Shape(1, 4));
        for (int step = 0; step < STEPS; ++step) {
          hook.step(Mode.TRAIN, number -> learn(trainer, iris, hook));
        }
        NDArray told = trainer.evaluate(new NDList(iris.measures())).singletonOrThrow().argMax(1);
        return told.toType(DataType.FLOAT32, false)
            .eq(iris.kinds())
            .toType(DataType.FLOAT32, false)
            .mean()
            .getFloat();
      }
    }
  }

  private void learn(Trainer trainer, Iris iris, Hook hook) {
    try (GradientCollector collector = trainer.newGradientCollector()) {
      NDList answers = trainer.forward(new NDList(iris.measures()));
      NDArray loss = trainer.getLoss().evaluate(new NDList(iris.kinds()), answers);
      collector.backward(loss);
      hook.save("loss", loss.getFloat());
    }
    for (Pair<String, Parameter> parameter : layers.getParameters()) {
      NDArray weight = parameter.getValue().getArray();
      record(hook, parameter.getKey(), weight);
      record(hook, "gradient/" + parameter.getKey(), weight.getGradient());
    }
    trainer.step();
  }

  /** DJL's buffer is direct, so its elements reach the hook without a copy. */
  private static void record(Hook hook, String name, NDArray array) {
    if (hook.wants(name)) {
      hook.save(name, DType.FLOAT32, array.toByteBuffer(), array.getShape().getShape());
    }
  }
}
