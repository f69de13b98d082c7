//! What is recorded is read back.

mod common;

use common::{open, recorded, saving_all, Folder};
use smdebug::{
    Collection, Complex, DType, Element, ErrorCode, Hook, HookOptions, LogLevel, Mode, ReductionConfig,
    SaveConfig, StepState, Steps, Tensor, Trial, Value, View,
};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn comes_back<T: Element + PartialEq + Debug>(folder: &Folder, elements: &[T]) {
    let path = folder.join(T::DTYPE.to_string());
    let hook = saving_all(&path).open().unwrap();
    let step = hook.step(Mode::Train).unwrap();
    step.save("copied", elements).unwrap();
    step.save_owned("owned", elements.to_vec(), &[elements.len(), 1]).unwrap();
    step.save("scalar", &elements[0]).unwrap();
    step.end().unwrap();
    hook.close().unwrap();
    let trial = open(&path);
    for (name, shape) in [("copied", vec![elements.len()]), ("owned", vec![elements.len(), 1])] {
        let value = trial.tensor(name).unwrap().value(0).unwrap();
        assert_eq!((value.dtype(), value.shape()), (T::DTYPE, &*shape));
        assert_eq!(value.as_slice::<T>().unwrap(), elements);
    }
    assert_eq!(trial.tensor("scalar").unwrap().read::<T>((0, Mode::Train)).unwrap(), [elements[0]]);
}

#[test]
fn every_type_comes_back() {
    let folder = Folder::new("types");
    comes_back(&folder, &[1.5_f32, -0.0, f32::INFINITY]);
    comes_back(&folder, &[1.5_f64, f64::MIN_POSITIVE]);
    comes_back(&folder, &[i8::MIN, i8::MAX]);
    comes_back(&folder, &[i16::MIN, i16::MAX]);
    comes_back(&folder, &[i32::MIN, i32::MAX]);
    comes_back(&folder, &[i64::MIN, i64::MAX]);
    comes_back(&folder, &[u8::MIN, u8::MAX]);
    comes_back(&folder, &[u16::MIN, u16::MAX]);
    comes_back(&folder, &[u32::MIN, u32::MAX]);
    comes_back(&folder, &[u64::MIN, u64::MAX]);
    comes_back(&folder, &[true, false, true]);
    comes_back(&folder, &[Complex { re: 1.0_f32, im: -2.0 }]);
    comes_back(&folder, &[Complex { re: 1.0_f64, im: -2.0 }]);
}

#[test]
fn other_types_are_bytes_and_texts() {
    let folder = Folder::new("bytes");
    let hook = saving_all(folder.join("run")).open().unwrap();
    let step = hook.step(Mode::Train).unwrap();
    let halves: Vec<u16> = vec![0x3c00, 0xc000]; // 1 and -2
    let bytes = unsafe { std::slice::from_raw_parts(halves.as_ptr().cast::<u8>(), 4) };
    step.save("half", View::from_bytes(DType::Float16, bytes, &[2]).unwrap()).unwrap();
    step.save_texts("words", &["loss", "層"], &[2]).unwrap();
    assert_eq!(step.save_texts("words", &["loss"], &[2]).unwrap_err().code(), ErrorCode::InvalidArgument);
    assert!(View::from_bytes(DType::Float16, &bytes[..3], &[1]).is_err());
    let unaligned = View::from_bytes(DType::Float16, &bytes[1..3], &[1]).unwrap_err();
    assert_eq!(
        unaligned.to_string(),
        "the bytes of a float16 tensor are not aligned to 2 bytes; copy them into an aligned buffer, such as the \
         bytes of a Vec<u64>"
    );
    let nothing: [&[u8]; 2] = [&[], &Vec::new()];
    for (name, bytes) in ["literal", "vec"].into_iter().zip(nothing) {
        step.save(name, View::from_bytes(DType::Complex128, bytes, &[0]).unwrap()).unwrap();
    }
    assert!(View::from_bytes(DType::String, bytes, &[1]).is_err());
    step.end().unwrap();
    hook.close().unwrap();
    let trial = open(folder.join("run"));
    for name in ["literal", "vec"] {
        assert_eq!(trial.tensor(name).unwrap().value(0).unwrap().shape(), [0]);
    }
    let half = trial.tensor("half").unwrap().value(0).unwrap();
    assert_eq!((half.dtype(), half.as_bytes()), (DType::Float16, bytes));
    assert_eq!(half.reduce("min").unwrap().as_slice::<f32>().unwrap(), [-2.0]);
    assert_eq!(trial.tensor("words").unwrap().value(0).unwrap().texts().unwrap(), ["loss", "層"]);
    assert_eq!(half.texts().unwrap_err().code(), ErrorCode::Unsupported);
}

#[test]
fn views_stay_within_their_elements() {
    let folder = Folder::new("views");
    let hook = saving_all(folder.join("run")).open().unwrap();
    let step = hook.step(Mode::Train).unwrap();
    let matrix = [1, 2, 3, 4, 5, 6];
    step.save("columns", View::new(&matrix, &[3, 2]).with_strides(&[1, 3])).unwrap();
    step.save("empty", View::new(&matrix[..0], &[0, 5])).unwrap();
    let refused: [(&[usize], Option<&[isize]>); 7] = [
        (&[5], None),
        (&[7], None),
        (&[usize::MAX, usize::MAX], None),
        (&[3, 2], Some(&[2, 3])),
        (&[2], Some(&[isize::MAX])),
        (&[2], Some(&[-1])),
        (&[3, 2], Some(&[1])),
    ];
    for (shape, strides) in refused {
        let view = View::new(&matrix, shape);
        let view = strides.map_or(view, |strides| view.with_strides(strides));
        assert_eq!(
            step.save("bad", view).unwrap_err().code(),
            ErrorCode::InvalidArgument,
            "{shape:?} {strides:?}"
        );
    }
    let error = step.save("bad", View::new(&matrix, &[4, 2])).unwrap_err();
    assert_eq!(error.to_string(), "a tensor of the shape [4, 2] does not fit 6 elements");
    assert!(step.save_owned("bad", vec![1.0_f32], &[2]).is_err());
    assert!(step.save("bad", View::new(&matrix[..1], &[1; 33])).is_err());
    step.end().unwrap();
    hook.close().unwrap();
    let trial = open(folder.join("run"));
    assert_eq!(trial.tensor_names().unwrap(), ["columns", "empty"]);
    assert_eq!(trial.tensor("columns").unwrap().read::<i32>(0).unwrap(), [1, 4, 2, 5, 3, 6]);
    assert_eq!(trial.tensor("empty").unwrap().value(0).unwrap().shape(), [0, 5]);
}

#[test]
fn a_step_that_is_dropped_is_discarded() {
    let folder = Folder::new("discard");
    let hook = saving_all(folder.join("run")).open().unwrap();
    let failing = || -> smdebug::Result<()> {
        let step = hook.step(Mode::Train)?;
        step.save("loss", &1.0)?;
        step.save("nul\0", &1.0)?;
        step.end()
    };
    assert_eq!(
        failing().unwrap_err().to_string(),
        "the name of a tensor \"nul\\0\" contains a NUL byte; remove it"
    );
    let step = hook.step(Mode::Train).unwrap();
    assert_eq!(hook.step(Mode::Train).unwrap_err().code(), ErrorCode::WrongState);
    assert_eq!(step.global_step(), 1);
    step.save("loss", &2.0).unwrap();
    step.end().unwrap();
    hook.close().unwrap();
    hook.close().unwrap();
    let trial = open(folder.join("run"));
    assert_eq!(trial.steps(Mode::Train).unwrap(), [1]);
    assert_eq!(saving_all(folder.join("run")).open().unwrap_err().code(), ErrorCode::TrialExists);
}

#[test]
fn options_select_what_is_saved() {
    let folder = Folder::new("options");
    let hook = Hook::options(folder.join("run"))
        .collection(
            Collection::new("own")
                .include_regex("^own/")
                .add_tensor("other")
                .save_config(SaveConfig::every(2))
                .reduction_config(ReductionConfig::new(["mean", "abs_max"]).shape(true)),
        )
        .include_collections(["own"])
        .save_config(
            SaveConfig::default().mode(Mode::Eval, Steps { also: vec![1], end: Some(0), ..Steps::every(1) }),
        )
        .reduction_config(ReductionConfig::new(["min"]).raw(true))
        .set("durability", "step")
        .open()
        .unwrap();
    for mode in [Mode::Train, Mode::Eval, Mode::Train, Mode::Eval] {
        let step = hook.step(mode).unwrap();
        let _ = step.wants("own/a");
        assert!(!step.wants("unwanted") && !step.wants("nul\0"));
        step.save("own/a", &[1.0_f32, -3.0]).unwrap();
        step.save("loss", &0.5).unwrap();
        step.end().unwrap();
    }
    hook.save_scalar("accuracy", 0.97).unwrap();
    hook.set_metadata("rate", "0.1").unwrap();
    assert_eq!(hook.set_metadata("", "x").unwrap_err().code(), ErrorCode::InvalidArgument);
    hook.save_custom("confusion", View::new(&[5, 0, 1, 4], &[2, 2]), &["diagnostics"]).unwrap();
    hook.flush(Some(Duration::from_secs(20))).unwrap();
    assert!(hook.is_recording());
    assert_eq!((hook.count("steps_failed"), hook.count("nothing")), (Some(0), None));
    hook.close().unwrap();
    let trial = open(folder.join("run"));
    let own = trial.tensor("own/a").unwrap();
    assert_eq!(own.steps(Mode::Train).unwrap(), [0]);
    assert_eq!(own.reductions((0, Mode::Train)).unwrap(), ["abs_max", "mean"]);
    assert_eq!(own.reduction((0, Mode::Train), "abs_max").unwrap().to_f64().unwrap(), 3.0);
    assert_eq!(own.shape((0, Mode::Train)).unwrap(), [2]);
    assert_eq!(own.value((0, Mode::Train)).unwrap_err().code(), ErrorCode::ValueUnavailable);
    assert_eq!(trial.tensor("loss").unwrap().steps(Mode::Eval).unwrap(), [1]);
    assert_eq!(trial.modes().unwrap(), [Mode::Train, Mode::Eval]);
    assert_eq!(trial.workers().unwrap(), ["worker_0"]);
    assert_eq!(trial.metadata().unwrap()["rate"], "0.1");
    assert!(trial.collections().unwrap().contains(&"diagnostics".into()));
    assert_eq!(trial.tensor_names_matching(&["^own"]).unwrap(), ["own/a"]);
    assert_eq!(trial.tensor_names_matching(&["("]).unwrap_err().code(), ErrorCode::InvalidConfig);
    let error = Hook::options(folder.join("x")).set("queue_bites", "1").open().unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(error.message().contains("queue_bytes"), "{error}");
}

#[test]
fn included_collections_add_up() {
    let folder = Folder::new("included");
    let options = |path: &str| Hook::options(folder.join(path)).save_config(SaveConfig::every(1));
    let hook = options("run").include_collections(["weights"]).include_collections(["gradients"]).open().unwrap();
    let step = hook.step(Mode::Train).unwrap();
    assert!(step.wants("layer.weight") && step.wants("gradient/x") && step.wants("loss") && !step.wants("other"));
    drop(step);
    let own = Collection::new("a,b").include_regex("^q");
    let error = options("other").collection(own).include_collections(["a,b"]).open().unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(error.message().contains("\"a,b\" contains a comma"), "{error}");
}

#[test]
fn a_negative_end_is_no_step() {
    let folder = Folder::new("ends");
    let ended = SaveConfig::default().mode(Mode::Train, Steps { end: Some(-1), ..Steps::every(1) });
    let hook = Hook::options(folder.join("none")).save_all().save_config(ended).open().unwrap();
    assert!(!hook.step(Mode::Train).unwrap().wants("loss"));
    let loss = recorded(folder.join("run"), "loss", &[1.0; 5]).tensor("loss").unwrap();
    let count = |first: i64, end: i64| loss.values(first..end, Mode::Train).unwrap().len();
    assert_eq!((count(0, -1), count(-5, 2), count(3, i64::MAX)), (0, 2, 2));
    assert_eq!(loss.values(..=-2, Mode::Train).unwrap().len(), 0);
    assert_eq!(loss.values(..=i64::MAX, Mode::Train).unwrap().len(), 5);
}

#[test]
fn a_trial_holds_what_is_known_of_the_run() {
    let folder = Folder::new("described");
    let trial = recorded(folder.join("run"), "loss", &[1.0]);
    let metadata = trial.metadata().unwrap();
    assert!(metadata["run.library"].contains(smdebug::library_version()), "{metadata:?}");
    assert!(!metadata["run.host"].is_empty());
    assert!(metadata["run.rust"].starts_with("1."), "{metadata:?}");
    assert_eq!(trial.worker_metadata("worker_0").unwrap(), metadata);
    assert!(trial.worker_metadata("worker_9").unwrap().is_empty());
}

#[test]
fn values_are_a_list() {
    let folder = Folder::new("list");
    let loss = recorded(folder.join("run"), "loss", &[4.0, 2.0, 1.0]).tensor("loss").unwrap();
    let values = loss.values(1.., Mode::Train).unwrap();
    let mut seen = Vec::new();
    for (step, value) in &values {
        seen.push((step, value.unwrap().to_f64().unwrap()));
    }
    assert_eq!(seen, [(1, 2.0), (2, 1.0)]);
    assert_eq!(values.iter().rev().map(|(step, _)| step).collect::<Vec<_>>(), [2, 1]);
    assert_eq!((values.iter().len(), values.iter().nth(1).unwrap().0), (2, 2));
    let (step, value) = values.get(0).unwrap();
    assert_eq!((step, value.unwrap().to_f64().unwrap()), (1, 2.0));
    assert!(values.get(2).is_none() && values.get(usize::MAX).is_none());
}

#[test]
fn tensors_outlive_their_trial() {
    let folder = Folder::new("lifetimes");
    let tensor = recorded(folder.join("run"), "loss", &[1.0, 0.5, 0.25]).tensor("loss").unwrap();
    let values = tensor.values(1.., Mode::Train).unwrap();
    let means = tensor.reduction_values(..=1, Mode::Train, "abs_mean").unwrap();
    assert_eq!(means.iter().map(|(_, mean)| mean.unwrap().to_f64().unwrap()).collect::<Vec<_>>(), [1.0, 0.5]);
    drop(tensor);
    let kept: Vec<(i64, Value)> = values.iter().map(|(step, value)| (step, value.unwrap())).collect();
    assert_eq!((values.len(), values.is_empty()), (2, false));
    drop(values);
    let copy = kept[1].1.clone();
    assert_eq!(kept.iter().map(|(step, _)| *step).collect::<Vec<_>>(), [1, 2]);
    drop(kept);
    assert_eq!(copy.as_slice::<f64>().unwrap(), [0.25]);
    let error = copy.as_slice::<f32>().unwrap_err();
    assert_eq!(error.to_string(), "the elements are float64, not float32; read them as that");
}

#[test]
fn what_is_missing_has_a_code() {
    let folder = Folder::new("missing");
    let trial = recorded(folder.join("run"), "loss", &[1.0]);
    let loss = trial.tensor("loss").unwrap();
    assert_eq!(trial.tensor("no").unwrap_err().code(), ErrorCode::TensorUnavailable);
    assert_eq!(loss.value(7).unwrap_err().code(), ErrorCode::StepUnavailable);
    assert_eq!(loss.value((0, Mode::Train, "worker_9")).unwrap_err().code(), ErrorCode::WorkerUnknown);
    assert_eq!(loss.value((0, Mode::Train, "nul\0")).unwrap_err().code(), ErrorCode::InvalidArgument);
    let error = trial.wait_for_step(9, Some(Duration::from_secs(20))).unwrap_err();
    assert_eq!((error.code(), error.detail("last_step").as_deref()), (ErrorCode::NoMoreData, Some("0")));
    assert_eq!(trial.step_state(0).unwrap(), StepState::Available);
    assert_eq!(loss.workers(0).unwrap(), ["worker_0"]);
    assert!(trial.has_ended());
    trial.cancel();
    assert_eq!(loss.value(0).unwrap_err().code(), ErrorCode::Cancelled);
    let nothing = Trial::options().set("wait_seconds", "0").open(folder.join("nothing"));
    assert_eq!(nothing.unwrap_err().code(), ErrorCode::MissingCollections);
}

#[test]
fn handles_are_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Hook>();
    shared::<Trial>();
    shared::<Tensor>();
    shared::<Value>();
    shared::<smdebug::RuleSet>();
    shared::<smdebug::Error>();
    let folder = Folder::new("threads");
    let hook = saving_all(folder.join("run")).open().unwrap();
    for _ in 0..20 {
        let step = hook.step(Mode::Train).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4_i32 {
                let step = &step;
                scope.spawn(move || step.save(&format!("t{thread}"), &[thread; 1000]).unwrap());
            }
        });
        step.end().unwrap();
    }
    hook.close().unwrap();
    let trial = Arc::new(open(folder.join("run")));
    let readers: Vec<_> = (0..4_i32)
        .map(|thread| {
            let trial = Arc::clone(&trial);
            std::thread::spawn(move || {
                let tensor = trial.tensor(&format!("t{thread}")).unwrap();
                (0..20).all(|step| tensor.read::<i32>(step).unwrap() == [thread; 1000])
            })
        })
        .collect();
    assert!(readers.into_iter().all(|reader| reader.join().unwrap()));
}

#[test]
fn borrowed_memory_is_dropped_once() {
    struct Counted(Vec<f32>, Arc<Mutex<i32>>);
    impl AsRef<[f32]> for Counted {
        fn as_ref(&self) -> &[f32] {
            &self.0
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            *self.1.lock().unwrap() += 1;
        }
    }
    let folder = Folder::new("borrowed");
    let dropped = Arc::new(Mutex::new(0));
    let hook = saving_all(folder.join("run")).open().unwrap();
    let step = hook.step(Mode::Train).unwrap();
    let large = || Counted(vec![2.0; 1 << 20], Arc::clone(&dropped));
    step.save_owned("large", large(), &[1 << 20]).unwrap();
    assert!(step.save_owned("large", large(), &[3]).is_err());
    assert!(step.save_owned("nul\0", large(), &[1 << 20]).is_err());
    step.end().unwrap();
    hook.close().unwrap();
    assert_eq!(*dropped.lock().unwrap(), 3);
    let trial = open(folder.join("run"));
    assert_eq!(trial.tensor("large").unwrap().value(0).unwrap().reduce("mean").unwrap().to_f64().unwrap(), 2.0);
}

#[test]
fn log_lines_go_to_the_function() {
    let folder = Folder::new("log");
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let config = folder.join("config.json");
    std::fs::write(&config, r#"{"LocalPath": "/nowhere", "HookParametres": {}}"#).unwrap();
    let hook = Hook::options(folder.join("run"))
        .log(LogLevel::Warning, move |level, line| {
            sink.lock().unwrap().push((level, line.to_owned()));
            panic!("a panic of a log function stays there");
        })
        .config_file(config)
        .open()
        .unwrap();
    drop(hook);
    let lines = lines.lock().unwrap();
    assert_eq!(lines[0].0, LogLevel::Warning);
    assert!(lines[0].1.contains("HookParametres"), "{lines:?}");
}

#[test]
fn a_file_may_select_the_folder() {
    let folder = Folder::new("selected");
    let (file, run) = (folder.join("hook.json"), folder.join("run"));
    std::fs::write(&file, format!("{{\"LocalPath\": {run:?}}}")).unwrap();
    let hook = HookOptions::from_file(&file).save_config(SaveConfig::every(1)).open().unwrap();
    let step = hook.step(Mode::Train).unwrap();
    step.save("loss", &1.0).unwrap();
    step.end().unwrap();
    hook.close().unwrap();
    assert_eq!(open(&run).tensor_names().unwrap(), ["loss"]);
    assert_eq!(Hook::options("").open().unwrap_err().code(), ErrorCode::InvalidArgument);
}
