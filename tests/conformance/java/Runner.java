import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.stream.LongStream;
import org.smdebug.Action;
import org.smdebug.BuiltinRule;
import org.smdebug.Cause;
import org.smdebug.Collection;
import org.smdebug.DType;
import org.smdebug.Finding;
import org.smdebug.Hook;
import org.smdebug.Level;
import org.smdebug.Mode;
import org.smdebug.Reduction;
import org.smdebug.ReductionConfig;
import org.smdebug.RuleFunction;
import org.smdebug.RuleResult;
import org.smdebug.RuleSet;
import org.smdebug.SaveConfig;
import org.smdebug.SmdebugException;
import org.smdebug.Tensor;
import org.smdebug.TensorSink;
import org.smdebug.Trial;
import org.smdebug.Value;

/** Runs the conformance scenario through the Java package; see README.md. */
@SuppressWarnings("unchecked")
final class Runner {
  private final String outDir;
  private final Map<String, Attached> attached;
  private final Trial trial;

  private Runner(String outDir, Map<String, Attached> attached) {
    this.outDir = outDir;
    this.attached = attached;
    trial = Trial.open(outDir);
  }

  public static void main(String[] arguments) throws Exception {
    Map<String, Object> scenario =
        (Map<String, Object>) Json.read(Files.readString(Path.of(arguments[0])));
    String outDir = arguments[1];
    Runner runner = new Runner(outDir, record(scenario, outDir));
    Map<String, Object> results = new LinkedHashMap<>();
    for (Map<String, Object> query : maps(scenario, "queries")) {
      results.put((String) query.get("id"), runner.answer(query));
    }
    runner.trial.close();
    Files.writeString(Path.of(arguments[2]), Json.write(results));
  }

  // ---- recording ------------------------------------------------------------

  /** Collects the findings and actions of a worker's hook while it records. */
  private record Attached(List<String> actions, List<Finding> findings) {
    void note(Hook hook) {
      actions.add(hook.action().name());
      findings.addAll(hook.takeFindings());
    }
  }

  private static Map<String, Attached> record(Map<String, Object> scenario, String outDir) {
    Map<String, Attached> attached = new LinkedHashMap<>();
    Map<String, Hook> hooks = new LinkedHashMap<>();
    for (Object worker : list(scenario, "workers")) {
      hooks.put((String) worker, hook(scenario, outDir, (String) worker));
      attached.put((String) worker, new Attached(new ArrayList<>(), new ArrayList<>()));
    }
    for (Map<String, Object> step : maps(scenario, "steps")) {
      hooks.forEach(
          (worker, hook) -> {
            record(step, hook, worker);
            attached.get(worker).note(hook);
          });
    }
    hooks.values().forEach(Hook::close);
    return attached;
  }

  private static Hook hook(Map<String, Object> scenario, String outDir, String worker) {
    Hook.Builder description =
        Hook.builder(outDir)
            .options((Map<String, String>) scenario.get("options"))
            .worker(worker)
            .saveConfig(saveConfig(scenario));
    for (Map<String, Object> settings : maps(scenario, "collections")) {
      description.collection(collection(settings));
    }
    Hook hook = description.build();
    try (RuleSet rules = rules(map(scenario, "attach"))) {
      hook.attach(rules);
    }
    return hook;
  }

  private static RuleSet rules(Map<String, Object> settings) {
    String profile = ((String) settings.get("profile")).toUpperCase();
    RuleSet rules = new RuleSet(RuleSet.Profile.valueOf(profile));
    if (settings.containsKey("save_every")) {
      rules.saveConfig(saveConfig(settings));
    }
    for (Map<String, Object> rule : maps(settings, "rules")) {
      Action action = Action.valueOf((String) rule.get("action"));
      if (rule.containsKey("function")) {
        rules.add((String) rule.get("function"), saved(rule), action);
      } else {
        rules.add((String) rule.get("rule"), (Map<String, String>) rule.get("parameters"), action);
      }
    }
    return rules;
  }

  /** Finds the steps at which a tensor was saved. */
  private static RuleFunction saved(Map<String, Object> rule) {
    String tensor = (String) rule.get("tensor");
    return step -> {
      step.trial().tensor(tensor).value(step.step()).close();
      step.report("it was saved");
      step.report(place(tensor, step.step()));
      step.report(
          Finding.of("it is large").withAction(Action.STOP).withLevel(Level.WORTH_A_LOOK));
      if (rule.containsKey("until") && (long) rule.get("until") == step.step()) {
        step.finish();
      }
    };
  }

  private static Finding place(String tensor, long step) {
    return new Finding(
        "",
        "place",
        tensor,
        "worker_1",
        "it has a step",
        -1,
        Mode.GLOBAL,
        -1,
        Action.WARN,
        OptionalDouble.of(step),
        OptionalDouble.of(0.5),
        Level.FINDING);
  }

  private static void record(Map<String, Object> step, Hook hook, String worker) {
    hook.beginStep(mode(step));
    for (Map<String, Object> tensor : maps(step, "tensors")) {
      save(hook, tensor, worker);
    }
    for (Map<String, Object> scalar : maps(step, "scalars")) {
      hook.saveScalar((String) scalar.get("name"), (double) scalar.get("value"));
    }
    for (Map<String, Object> tensor : maps(step, "custom")) {
      String[] collections = list(tensor, "collections").toArray(new String[0]);
      save(hook.into(collections), tensor, worker);
    }
    hook.endStep();
  }

  private static SaveConfig saveConfig(Map<String, Object> settings) {
    SaveConfig config = SaveConfig.unset();
    for (Map.Entry<String, Object> mode : map(settings, "save_every").entrySet()) {
      config = config.with(Mode.valueOf(mode.getKey()), (long) mode.getValue());
    }
    return config;
  }

  private static Collection collection(Map<String, Object> settings) {
    Collection collection = new Collection((String) settings.get("name"));
    for (Object regex : list(settings, "regexes")) {
      collection.include((String) regex);
    }
    if (settings.containsKey("save_every")) {
      collection.saveConfig(saveConfig(settings));
    }
    if (settings.containsKey("reductions")) {
      ReductionConfig config = ReductionConfig.of(((String) settings.get("reductions")).split(","));
      boolean shape = Boolean.TRUE.equals(settings.get("shape"));
      collection.reductionConfig(shape ? config.withShape() : config);
    }
    return collection;
  }

  private static void save(TensorSink sink, Map<String, Object> tensor, String worker) {
    String name = (String) tensor.get("name");
    DType dtype = DType.valueOf(((String) tensor.get("dtype")).toUpperCase());
    long[] shape = list(tensor, "shape").stream().mapToLong(size -> (long) size).toArray();
    if (dtype == DType.STRING) {
      sink.save(name, list(map(tensor, "strings"), worker).toArray(new String[0]), shape);
      return;
    }
    byte[] bytes = HexFormat.of().parseHex((String) map(tensor, "data").get(worker));
    ByteBuffer data = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    if (shape.length == 0 && dtype == DType.FLOAT64) {
      sink.save(name, data.getDouble());
      return;
    }
    switch (dtype) {
      case FLOAT32 -> {
        float[] elements = new float[bytes.length / 4];
        data.asFloatBuffer().get(elements);
        sink.save(name, elements, shape);
      }
      case FLOAT64 -> {
        double[] elements = new double[bytes.length / 8];
        data.asDoubleBuffer().get(elements);
        sink.save(name, elements, shape);
      }
      case INT8 -> sink.save(name, bytes, shape);
      case INT16 -> {
        short[] elements = new short[bytes.length / 2];
        data.asShortBuffer().get(elements);
        sink.save(name, elements, shape);
      }
      case INT32 -> {
        int[] elements = new int[bytes.length / 4];
        data.asIntBuffer().get(elements);
        sink.save(name, elements, shape);
      }
      case INT64 -> {
        long[] elements = new long[bytes.length / 8];
        data.asLongBuffer().get(elements);
        sink.save(name, elements, shape);
      }
      case BOOL -> {
        boolean[] elements = new boolean[bytes.length];
        for (int i = 0; i < bytes.length; ++i) {
          elements[i] = bytes[i] != 0;
        }
        sink.save(name, elements, shape);
      }
      default -> sink.save(name, dtype, data, shape);
    }
  }

  // ---- queries --------------------------------------------------------------

  private Map<String, Object> answer(Map<String, Object> query) throws InterruptedException {
    Map<String, Object> answer = new LinkedHashMap<>();
    try {
      answer.put("value", value(query));
    } catch (RuntimeException error) {
      SmdebugException cause = SmdebugException.of(error);
      if (cause == null) {
        throw error;
      }
      answer.put("code", cause.code().name());
      answer.put("message", cause.getMessage().replace(outDir, "<trial>"));
    }
    return answer;
  }

  private Object value(Map<String, Object> query) throws InterruptedException {
    return switch ((String) query.get("call")) {
      case "workers" -> trial.workers();
      case "collections" -> trial.collectionNames();
      case "modes" -> trial.modes().stream().map(Mode::name).toList();
      case "steps" -> listed(trial.steps(mode(query)));
      case "tensor_names" -> tensorNames(query);
      case "recorded_names" -> trial.recordedNames(step(query), mode(query));
      case "mode_step" -> {
        Trial.ModeStep step = trial.modeStep(step(query));
        yield step == null ? null : List.of(step.mode().name(), step.step());
      }
      case "global_step" -> {
        long step = trial.globalStep(step(query), mode(query));
        yield step < 0 ? null : step;
      }
      case "step_state" -> trial.stepState(step(query), mode(query)).name();
      case "tensor_steps" -> listed(tensor(query).steps(mode(query)));
      case "prev_steps" ->
          listed(tensor(query).previousSteps(step(query), mode(query), (long) query.get("count")));
      case "tensor_workers" -> tensor(query).workers(step(query), mode(query));
      case "value" -> {
        try (Value value = tensor(query).value(step(query), mode(query), worker(query))) {
          yield described(value);
        }
      }
      case "reduction" -> {
        Reduction reduction = Reduction.valueOf(((String) query.get("reduction")).toUpperCase());
        boolean absolute = (boolean) query.get("absolute");
        try (Value value =
            tensor(query).reduction(step(query), mode(query), worker(query), reduction, absolute)) {
          yield described(value);
        }
      }
      case "reductions" -> tensor(query).reductions(step(query), mode(query), worker(query));
      case "shape" ->
          listed(LongStream.of(tensor(query).shape(step(query), mode(query), worker(query))));
      case "rule" -> findings(query);
      case "findings" -> {
        try (RuleSet rules = rules(map(query, "rule_set"))) {
          yield described(rules.follow(trial).toList());
        }
      }
      case "results" -> {
        try (RuleSet rules = rules(map(query, "rule_set"))) {
          rules.evaluate(trial);
          yield rules.results().stream().map(Runner::summarized).toList();
        }
      }
      case "diagnosis" -> {
        try (RuleSet rules = rules(map(query, "rule_set"))) {
          rules.evaluate(trial);
          yield rules.diagnose().stream().map(Runner::diagnosed).toList();
        }
      }
      case "attached" -> {
        Attached said = attached.get(worker(query));
        yield Map.of("actions", said.actions(), "findings", described(said.findings()));
      }
      case "wait" -> {
        trial.waitForStep(step(query), mode(query), null);
        yield null;
      }
      case "include" -> {
        try (Collection collection = new Collection("c")) {
          collection.include((String) query.get("regex"));
        }
        yield null;
      }
      case "hook" -> {
        Map<String, String> options = placed(query);
        Hook.builder(options.get("out_dir")).options(options).worker("worker_0").build().close();
        yield null;
      }
      case "open" -> {
        String path = ((String) query.get("path")).replace("<trial>", outDir);
        Trial.builder(path).options(placed(query)).open().close();
        yield null;
      }
      default -> throw new IllegalArgumentException("unknown call: " + query.get("call"));
    };
  }

  private List<String> tensorNames(Map<String, Object> query) {
    String collection = (String) query.get("collection");
    if (query.containsKey("regexes")) {
      return trial.tensorNamesMatching(list(query, "regexes").toArray(new String[0]));
    }
    if (query.containsKey("step")) {
      return collection == null
          ? trial.tensorNamesAt(step(query), mode(query))
          : trial.tensorNamesIn(collection, step(query), mode(query));
    }
    return collection == null ? trial.tensorNames() : trial.tensorNamesIn(collection);
  }

  private List<Long> findings(Map<String, Object> query) {
    Map<String, String> parameters = (Map<String, String>) query.get("parameters");
    try (BuiltinRule rule = new BuiltinRule((String) query.get("rule"), parameters)) {
      return listed(trial.findings(rule));
    }
  }

  private Tensor tensor(Map<String, Object> query) {
    return trial.tensor((String) query.get("tensor"));
  }

  private Map<String, String> placed(Map<String, Object> query) {
    Map<String, String> options = new LinkedHashMap<>();
    map(query, "options")
        .forEach((name, value) -> options.put(name, ((String) value).replace("<trial>", outDir)));
    return options;
  }

  private static Map<String, Object> described(Value value) {
    Map<String, Object> described = new LinkedHashMap<>();
    described.put("dtype", value.dtype().key());
    described.put("shape", listed(LongStream.of(value.shape())));
    if (value.dtype() == DType.STRING) {
      described.put("strings", value.strings());
    } else {
      described.put("data", HexFormat.of().formatHex(value.toByteArray()));
    }
    return described;
  }

  private static List<Map<String, Object>> described(List<Finding> findings) {
    return findings.stream().map(Runner::described).toList();
  }

  private static Map<String, Object> summarized(RuleResult result) {
    Map<String, Object> summarized = new LinkedHashMap<>();
    summarized.put("rule", result.rule());
    summarized.put("status", result.status().name());
    summarized.put("finding_count", result.findingCount());
    summarized.put("look_count", result.lookCount());
    summarized.put("message", result.message());
    summarized.put("first", result.first().map(Runner::described).orElse(null));
    return summarized;
  }

  private static Map<String, Object> diagnosed(Cause cause) {
    Map<String, Object> diagnosed = new LinkedHashMap<>();
    diagnosed.put("id", cause.id());
    diagnosed.put("title", cause.title());
    diagnosed.put("confidence", cause.confidence());
    diagnosed.put("advice", cause.advice());
    diagnosed.put("link", cause.link());
    diagnosed.put("evidence", cause.evidence().stream().map(Runner::diagnosed).toList());
    diagnosed.put("missing", cause.missing());
    return diagnosed;
  }

  private static Map<String, Object> diagnosed(Cause.Evidence evidence) {
    Map<String, Object> diagnosed = new LinkedHashMap<>();
    diagnosed.put("first", described(evidence.first()));
    diagnosed.put("finding_count", evidence.findingCount());
    diagnosed.put("tensor_count", evidence.tensorCount());
    return diagnosed;
  }

  private static Map<String, Object> described(Finding finding) {
    Map<String, Object> described = new LinkedHashMap<>();
    described.put("rule", finding.rule());
    described.put("action", finding.action().name());
    described.put("step", finding.step());
    described.put("mode", finding.mode().name());
    described.put("mode_step", finding.modeStep());
    described.put("worker", finding.worker());
    described.put("tensor", finding.tensor());
    described.put("value", numberOrNull(finding.value()));
    described.put("limit", numberOrNull(finding.limit()));
    described.put("level", finding.level().name());
    described.put("check", finding.check());
    described.put("message", finding.message());
    return described;
  }

  private static Double numberOrNull(OptionalDouble number) {
    return number.isPresent() ? number.getAsDouble() : null;
  }

  private static List<Long> listed(LongStream numbers) {
    return numbers.boxed().toList();
  }

  private static Mode mode(Map<String, Object> query) {
    return Mode.valueOf((String) query.getOrDefault("mode", "GLOBAL"));
  }

  private static long step(Map<String, Object> query) {
    return (long) query.get("step");
  }

  private static String worker(Map<String, Object> query) {
    return (String) query.get("worker");
  }

  private static Map<String, Object> map(Map<String, Object> from, String name) {
    return (Map<String, Object>) from.get(name);
  }

  private static List<Object> list(Map<String, Object> from, String name) {
    return (List<Object>) from.getOrDefault(name, List.of());
  }

  private static List<Map<String, Object>> maps(Map<String, Object> from, String name) {
    return (List<Map<String, Object>>) from.getOrDefault(name, List.of());
  }
}
