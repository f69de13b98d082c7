#!/bin/sh
# Builds the Java package from the native parts in BUILD, tests it, and runs its users:
# test_java.sh BUILD.  Maven's downloads are kept in the cache folder.  Once they are
# complete, no network is needed.
set -eu

build="$(mkdir -p "$1" && cd "$1" && pwd)"
here="$(cd "$(dirname "$0")/.." && pwd)"
version="$(cd "$here" && . tools/release_env.sh && echo "$version")"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/libsmdebug"
scratch="$(mktemp -d)"
memory="$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)"
trap 'rm -rf "$scratch" "$memory"' EXIT

say() { echo "== $*"; }

maven() { "$here/tools/maven.sh" "$scratch/maven.log" "$@"; }

fail() { echo "test_java.sh: $*" >&2; exit 1; }

say "native parts"
timeout 1200 "$here/tools/java_native.sh" "$build" >"$scratch/native.log" || {
  cat "$scratch/native.log"
  exit 1
}

say "package, tests under -Xcheck:jni, javadoc"
cd "$here/bindings/java"
rm -rf target
maven 600 install -Dsmdebug.native.dir="$build/java"
for file in target/surefire-reports/*.dump*; do
  [ ! -e "$file" ] || { cat "$file"; fail "the virtual machine complains"; }
done
grep -l 'WARNING in native method\|FATAL ERROR in native' target/surefire-reports/* &&
  fail "JNI is misused"

say "contents of the jars"
jar="$here/bindings/java/target/smdebug-$version.jar"
unzip -Z1 "$jar" | grep -q '^native/.*/libsmdebug_jni.so$' || fail "$jar has no native library"
for name in LICENSE copyright; do
  unzip -Z1 "$jar" | grep -q "^META-INF/licenses/$name\$" || fail "$jar lacks the licence $name"
done
unzip -Z1 "${jar%.jar}-sources.jar" | grep '^native/' && fail "the sources hold natives"
unzip -Z1 "${jar%.jar}-javadoc.jar" | grep -q '^org.smdebug/org/smdebug/Hook.html$' ||
  fail "the javadoc lacks Hook"
unzip -Z1 "${jar%.jar}-javadoc.jar" | grep 'org/smdebug/raw' &&
  fail "the javadoc shows the raw layer"

say "conformance runner"
classes="$build/java/conformance-classes"
rm -rf "$classes"
timeout 60 javac --release 17 -Xlint:all -Werror -encoding UTF-8 -cp "$jar" -d "$classes" \
  "$here"/tests/conformance/java/*.java
printf '#!/bin/sh\nexec java -cp "%s:%s" Runner "$@"\n' "$classes" "$jar" \
  >"$build/java/conformance"
chmod +x "$build/java/conformance"
timeout 60 "$build/java/conformance" "$here/tests/conformance/scenario.json" \
  "$scratch/trial" "$scratch/result.json"

say "a user's project, as modules"
cp -r "$here/bindings/java/src/it" "$scratch/user"
cd "$scratch/user"
maven 120 compile exec:java
grep -q 'reads Value(float32 \[3\])$' "$scratch/maven.log" || fail "the user's program logs nothing"
timeout 60 java -p "$scratch/user/target/classes:$jar" -m user/com.example.User >"$scratch/user.txt"
grep -q '^module org.smdebug reads Value(float32 \[3\])$' "$scratch/user.txt" ||
  { cat "$scratch/user.txt"; fail "the user's program printed something else"; }

say "example"
export DJL_CACHE_DIR="${DJL_CACHE_DIR:-$cache/djl}"
cd "$here/examples/java"
maven 600 compile dependency:build-classpath -Dmdep.outputFile="$scratch/classpath"
timeout 300 java -cp "target/classes:$(cat "$scratch/classpath")" org.smdebug.example.Main \
  "$scratch/iris" >"$scratch/iris.txt" 2>"$scratch/iris.err" || { cat "$scratch"/iris.*; exit 1; }
[ ! -s "$scratch/iris.err" ] || { cat "$scratch/iris.err"; fail "the example complains"; }
for line in '^sound network: tells 9[0-9] %' '^ill network' \
  'LearnsNothing     finds nothing$' 'VanishingGradient finds nothing$' \
  'LearnsNothing     found at step 100$' 'VanishingGradient found at step 0$' \
  "gradient 'gradient/01Linear_weight' of the first layer is .* times as large as"; do
  grep -q "$line" "$scratch/iris.txt" || {
    cat "$scratch/iris.txt"
    fail "the example does not print: $line"
  }
done

# Calls fail below the library and its JNI part; the virtual machine's own calls do not fail.
# The virtual machine interprets, because then it allocates almost nothing itself.  The
# program links libstdc++, as in C: glibc aborts a process that lacks memory for the
# thread-local data of a library loaded later.
say "failing calls"
calls="$build/java/failing-calls"
rm -rf "$calls"
mkdir "$calls"
include="$(dirname "$(readlink -f "$(command -v javac)")")/../include"
timeout 60 cc -shared -fPIC -O1 -Wall -Wextra -Werror -I"$include" -I"$include/linux" \
  -I"$here/tests/faults" "$here/tests/faults/failing_calls.c" "$here/tests/faults/java/calls.c" \
  -o "$calls/libfailing_calls.so"
timeout 60 javac --release 17 -Xlint:all -Werror -encoding UTF-8 -cp "$jar" -d "$calls" \
  "$here"/tests/faults/java/*.java
timeout 600 env LD_PRELOAD="$calls/libfailing_calls.so libstdc++.so.6" \
  FAULT_UNDER=libsmdebug FAULT_SPARED=libjvm java -Xcheck:jni -Xint -XX:+UseSerialGC -Xmx64m \
  -Djava.library.path="$calls" -cp "$calls:$jar" FailingCalls "$memory" \
  "$([ -n "${SMDEBUG_TORTURE:-}" ] && echo 1 || echo 7)" \
  >"$scratch/calls.txt" 2>"$scratch/calls.err" ||
  { tail -n 40 "$scratch"/calls.*; fail "a call that fails does harm"; }
cat "$scratch/calls.txt"
grep -q 'in native method' "$scratch/calls.txt" && fail "JNI is misused when calls fail"

say "cost"
cd "$here/bindings/java"
timeout 120 java -cp target/test-classes:target/classes org.smdebug.SaveBenchmark "$scratch"
