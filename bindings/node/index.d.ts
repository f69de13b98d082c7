/** The purpose of a step; `global` counts all steps of a job in one sequence. */
export type Mode = 'train' | 'eval' | 'predict' | 'global';
/** What a finding recommends. */
export type Action = 'continue' | 'warn' | 'stop';
/** How sure a finding is: one worth a look may be wrong. */
export type Level = 'finding' | 'worth_a_look';
/** Defaults of the parameters of built-in rules. */
export type Profile = 'calibrated' | 'aws' | 'llm';

/** The typed array that holds the elements of each type.  16- and 8-bit floats are their bits, a complex number is
 * two elements, and a bool a byte. */
export interface Arrays {
  float16: Uint16Array; bfloat16: Uint16Array; float8_e5m2: Uint8Array; float8_e4m3fn: Uint8Array;
  float32: Float32Array; float64: Float64Array;
  int8: Int8Array; int16: Int16Array; int32: Int32Array; int64: BigInt64Array;
  uint8: Uint8Array; uint16: Uint16Array; uint32: Uint32Array; uint64: BigUint64Array;
  bool: Uint8Array; complex64: Float32Array; complex128: Float64Array;
}
export type NumericDType = keyof Arrays;

/** A tensor of a type that JavaScript has no array for. */
export type TypedTensor = {[T in NumericDType]: {dtype: T; data: Arrays[T]}}[NumericDType];

/** What can be saved: a number (float64), a typed array, or texts. */
export type Saveable =
  | number | string | readonly string[] | TypedTensor
  | Float32Array | Float64Array | Int8Array | Int16Array | Int32Array | BigInt64Array
  | Uint8Array | Uint8ClampedArray | Uint16Array | Uint32Array | BigUint64Array;

/** The elements of a tensor at one step, copied, in row-major order. */
export type Value =
  | {[T in NumericDType]: {dtype: T; shape: number[]; data: Arrays[T]}}[NumericDType]
  | {dtype: 'string'; shape: number[]; data: string[]};

/** Why a call failed. */
export class SmdebugError extends Error {
  /** A name that all languages share, such as `STEP_UNAVAILABLE`. */
  readonly code: string;
  /** True if the same call may succeed later without a change by the caller. */
  readonly isRetryable: boolean;
  /** Such as `path`, `step`, `tensor` and `http_status`. */
  readonly details: Readonly<Record<string, string>>;
  /** What a rule set had found before the error. */
  findings?: Finding[];
  /** What a rule of your own threw. */
  cause?: unknown;
}

/** Which steps are saved. */
export interface Steps {
  /** Every so many steps (default 500), from `first` (0) to before `end` (`Infinity` or -1: no end). */
  every?: number;
  first?: number;
  end?: number;
  /** These steps too. */
  steps?: readonly number[];
}
/** Which steps are saved: in all modes, or mode by mode. */
export type SaveConfig = Steps | Partial<Record<Mode, Steps>>;

/** What is saved of a tensor: reductions such as `mean` and `abs_max`, its elements, its shape. */
export interface ReductionConfig {
  reductions?: readonly string[];
  raw?: boolean;
  shape?: boolean;
}

/** A named group of tensors, and how they are saved. */
export interface Collection {
  name: string;
  regexes?: readonly string[];
  tensors?: readonly string[];
  saveConfig?: SaveConfig;
  reductionConfig?: ReductionConfig;
}

export interface HookOptions {
  /** Collections to save besides the losses. */
  includeCollections?: readonly string[];
  /** Also saves tensors whose names match one of these regular expressions. */
  includeRegexes?: readonly string[];
  saveAll?: boolean;
  saveConfig?: SaveConfig;
  reductionConfig?: ReductionConfig;
  collections?: readonly Collection[];
  /** A configuration file of the training service, such as `/opt/ml/input/config/debughookconfig.json`.  Other options
   * replace what it sets. */
  configFile?: string;
  /** Every other option of the library by its name, such as `queue_policy` or `s3_region`. */
  settings?: Readonly<Record<string, string | number | boolean>>;
}

/** Owns memory of the library until it is closed. */
declare abstract class Handle {
  /** Frees the memory.  A second call does nothing. */
  close(): void;
  [Symbol.dispose](): void;
}

/** Records the tensors of a running job as a trial. */
export class Hook extends Handle {
  /** Records into a folder, or `s3://bucket/prefix`.  Nothing is written before the first tensor is saved.  Records
   * `run.host`, `run.library`, `run.commit` and `run.node` as metadata. */
  constructor(outDir: string, options?: HookOptions);
  /** Records into the folder that the configuration file names. */
  constructor(outDir: undefined | null, options: HookOptions & {configFile: string});
  /** Records what `fill` saves as one step, and returns its result.  If it returns a promise, so does this: the step
   * stays open until the promise settles, and no other step can begin; await it.  If `fill` throws or rejects, the step
   * is discarded; the error has why that failed, if it did, as its `cause`. */
  step<Result>(mode: Mode, fill: (globalStep: number) => Result): Result;
  /** Begins a step, and returns its number among all steps of the job. */
  beginStep(mode?: Mode): number;
  /** Ends the step: soon after, readers see all of its tensors at once. */
  endStep(): void;
  /** Closes the step without recording it. */
  discardStep(): void;
  /** Saves these collections at the open step too, whatever their save configs select. */
  addToStep(collections: readonly string[]): void;
  /** The last step that was begun in a mode, or null. */
  lastStep(mode?: Mode): number | null;
  /** Returns true if the step saves this tensor, or attached rules evaluate it. */
  wants(tensor: string): boolean;
  /** Saves a tensor, if a collection selects it.  Without a shape it has one dimension. */
  save(name: string, tensor: Saveable, shape?: readonly number[]): void;
  /** Saves one number as the tensor `scalar/<name>`, with the next step that saves anything. */
  saveScalar(name: string, number: number): void;
  /** Records a fact about the job, as a text.  `run.failure` says why it failed: its trial is then listed as failed. */
  setMetadata(key: string, value: string | number | boolean | bigint): void;
  /** Saves a tensor into collections, with the next step that saves anything. */
  saveCustom(
    name: string, tensor: Saveable, options?: {shape?: readonly number[]; collections?: readonly string[]},
  ): void;
  /** Attaches a rule set: from the next step on, it evaluates each step as it ends.  Fails with `INVALID_ARGUMENT` if
   * the set has a function, which reads a trial. */
  attach(rules: RuleSet): void;
  /** The most severe action that the findings of the last step recommend. */
  readonly action: Action;
  /** The findings of attached rules since the last call. */
  takeFindings(): Finding[];
  /** False if this process writes nothing: another one records into the folder, or it is a dry run. */
  readonly isRecording: boolean;
  /** A count, such as `steps_written`; -1 if there is none of that name. */
  count(name: string): number;
  /** Waits until every ended step is written, by default without limit.  Fails with `TIMEOUT`. */
  flush(options?: {timeoutSeconds?: number}): void;
  /** Writes what is queued, and the end marker.  Throws what the background writer failed with. */
  close(): void;
}

export interface TrialOptions {
  /** Options of the library by their names, such as `s3_region`. */
  settings?: Readonly<Record<string, string | number | boolean>>;
}
export interface WaitOptions {
  /** Stops waiting, with an `AbortError`. */
  signal?: AbortSignal;
}
export interface At {
  /** The mode that counts the step (default `global`). */
  mode?: Mode;
  /** The worker (default: the first that has it). */
  worker?: string | null;
}

/** The steps first <= s < end: by default all from 0 on. */
export interface StepRange {
  first?: number;
  end?: number;
}

/** The recording of a job, finished or still running.  Each call first reads what is new.  Only `open`, `waitForStep`
 * and `follow` let other work go on while they wait: every other call blocks until it is done, also while it waits for
 * requests to a bucket. */
export class Trial extends Handle {
  /** Opens a trial that is there. */
  constructor(path: string, options?: TrialOptions);
  /** Waits until a trial is there, by default for up to ten minutes, and opens it.  Requests to a bucket run on another
   * thread; an aborted `signal` ends them too. */
  static open(path: string, options?: TrialOptions & WaitOptions & {waitSeconds?: number}): Promise<Trial>;
  /** The names of the tensors saved so far, sorted.  Each condition narrows them: one of `regexes` matches the name,
   * the trial's `collection` has it (not with `regexes`), it was saved in `mode`, or at the `step` of that mode. */
  tensorNames(options?: {regexes?: readonly string[]; collection?: string; step?: number; mode?: Mode}): string[];
  tensor(name: string): Tensor;
  /** The steps of a mode that all workers wrote. */
  steps(mode?: Mode): number[];
  modes(): Mode[];
  /** The mode of a global step, and its number in that mode; null if the step was not seen. */
  modeStep(globalStep: number): {step: number; mode: Mode} | null;
  /** The global step of a step of a mode; null if the step was not seen. */
  globalStep(modeStep: number, mode: Mode): number | null;
  workers(): string[];
  collections(): string[];
  /** What the job recorded about itself. */
  metadata(): Record<string, string>;
  stepState(step: number, options?: {mode?: Mode}): 'unavailable' | 'available' | 'not_yet';
  /** Waits until a step is available, while other work goes on.  Fails with `TIMEOUT`, with `STEP_UNAVAILABLE` if the
   * job skipped the step, and with `NO_MORE_DATA` if it ended before. */
  waitForStep(step: number, options?: WaitOptions & {mode?: Mode; timeoutSeconds?: number}): Promise<void>;
  /** Yields each step of a mode as the job records it, and returns when the job has ended. */
  follow(options?: WaitOptions & StepRange & {mode?: Mode}): AsyncGenerator<number, void>;
  /** True if the job has ended and everything it recorded has been read. */
  readonly hasEnded: boolean;
}

/** A tensor of a trial.  It stays valid when the trial is closed. */
export class Tensor extends Handle {
  private constructor();
  readonly name: string;
  /** The steps of a mode at which it was saved. */
  steps(mode?: Mode): number[];
  /** The last `count` of these steps (default: all) that are not after `step`. */
  prevSteps(step: number, options?: {mode?: Mode; count?: number}): number[];
  workers(step: number, options?: {mode?: Mode}): string[];
  /** A copy of the elements at a step. */
  value(step: number, options?: At): Value;
  shape(step: number, options?: At): number[];
  /** A reduction at a step, such as `mean` or `abs_max`: the saved one, or else computed. */
  reduction(step: number, reduction: string, options?: At): number;
  /** The names of the reductions saved at a step, such as `mean` and `abs_max`. */
  reductions(step: number, options?: At): string[];
  /** Yields each step of a range, and its value.  All are read at once, and copied one by one.  A value that cannot be
   * read throws when it is taken from its pair: the pairs of the other steps still come. */
  values(options?: At & StepRange): Generator<[step: number, value: Value], void>;
  /** Yields each step of a range, and a reduction of it, as `values` does. */
  reductionValues(reduction: string, options?: At & StepRange): Generator<[step: number, value: number], void>;
}

/** A finding of a rule at one step. */
export interface Finding {
  readonly rule: string;
  readonly check: string;
  /** The culprit, or ''. */
  readonly tensor: string;
  readonly worker: string;
  readonly message: string;
  /** The global step. */
  readonly step: number;
  readonly mode: Mode;
  readonly modeStep: number;
  readonly action: Action;
  readonly level: Level;
  /** What was measured, or NaN. */
  readonly value: number;
  /** The limit that it passed, or NaN. */
  readonly limit: number;
}

/** The summary of one rule. */
export interface RuleResult {
  readonly rule: string;
  readonly status: 'passed' | 'has_findings' | 'no_tensors' | 'not_enough_data' | 'worth_a_look';
  readonly findingCount: number;
  readonly lookCount: number;
  readonly message: string;
  readonly first: Finding | null;
}

/** A likely cause of findings. */
export interface Cause {
  readonly id: string;
  readonly title: string;
  /** The chance that this is the cause, from 0 to 1. */
  readonly confidence: number;
  readonly advice: string;
  readonly link: string;
  readonly evidence: {first: Finding; findingCount: number; tensorCount: number}[];
  readonly missing: string[];
}

/** A finding that a rule of your own reports. */
export interface Report {
  message: string;
  check?: string;
  tensor?: string;
  worker?: string;
  /** What was measured, and the limit that it passed. */
  value?: number;
  limit?: number;
  /** Of this action and that of the rule, the more severe one holds, unless the level is `worth_a_look`. */
  action?: Action;
  level?: Level;
}

/** One step of a trial that a rule of your own evaluates.  Valid until the rule returns. */
export interface RuleStep {
  readonly trial: Trial;
  /** The global step. */
  readonly step: number;
  /** Adds a finding.  Fails with `WRONG_STATE` after the rule has returned. */
  readonly report: (finding: Report) => void;
  /** Ends the rule: it is not called again, unless the set is reset. */
  readonly finish: () => void;
}

/** A built-in rule. */
export interface RuleInfo {
  readonly name: string;
  /** When the rule finds something. */
  readonly summary: string;
  /** The profile that alone evaluates it by default, such as `llm`; '' for any. */
  readonly set: string;
  /** Each parameter with its defaults in two profiles; '' means none. */
  readonly parameters: readonly {
    readonly name: string; readonly aws: string; readonly calibrated: string; readonly meaning: string;
  }[];
}

/** Rules that evaluate one job together: a stored trial, or a running job by a hook. */
export class RuleSet extends Handle {
  constructor(profile?: Profile);
  /** Adds a built-in rule. */
  add(rule: string, options?: {parameters?: Readonly<Record<string, string | number | boolean>>; action?: Action}): void;
  /** Adds every built-in rule that needs no parameter and that the set does not hold. */
  addAll(options?: {action?: Action}): void;
  /** Adds a rule of your own: `evaluate` is called with each step, and reports what it finds.  If it throws
   * `TENSOR_UNAVAILABLE`, `STEP_UNAVAILABLE`, `VALUE_UNAVAILABLE` or `SHAPE_UNAVAILABLE`, the step is skipped.  Anything
   * else that it throws ends the evaluation with `CALLBACK_FAILED`, and is the error's `cause`.  It cannot be an async
   * function.  While it runs, its set cannot be changed or evaluated. */
  addFunction(name: string, evaluate: (step: RuleStep) => void, options?: {action?: Action}): void;
  /** Evaluates only the steps that the config selects. */
  setSaveConfig(config: SaveConfig): void;
  /** Evaluates the steps of a range that are there and were not evaluated yet.  `stopAtFinding` fails with
   * `RULE_CONDITION_MET` at the first finding; `incomplete` evaluates steps that a worker may still write to. */
  evaluate(trial: Trial, options?: StepRange & {stopAtFinding?: boolean; incomplete?: boolean}): Finding[];
  /** Yields each finding of a job that may still record, and returns when the job has ended.  Other work goes on while it
   * waits for a step, but not while it evaluates one.  A loop that breaks misses the other findings of its step. */
  follow(trial: Trial, options?: WaitOptions & StepRange & {stopAtFinding?: boolean}): AsyncGenerator<Finding, void>;
  results(): RuleResult[];
  /** The likely causes of what was found: at most three, the likeliest first. */
  diagnose(): Cause[];
  /** Forgets the trial and all results; keeps the rules. */
  reset(): void;
}

/** All built-in rules of the library. */
export function builtinRules(): RuleInfo[];

/** The version of the loaded library. */
export function libraryVersion(): string;
