//! What `--help` prints.

pub(crate) const OVERVIEW: &str = "\
cargo xtask: the one door

  demo [ARGS]                  three real clusters, flights, kills, and an independent check
  test [ARGS]                  verify, then every test; ARGS go to `cargo test`
  verify                       format, clippy, documentation, tests of the house; never writes
  fix                          repairs what can be repaired: clippy --fix, format
  generate [vectors]           error kinds, configuration keys, licences, golden scenarios for every language
  languages [NAME...]          builds, installs and tests the packages: c, java, node, python, wasm
  package [NAME...]            builds what users install, and tries each in an empty project
  clusters up [N]|down|...     stock Kafka clusters that outlive this command
  bench NAME [ARGS]            commit, core, languages, log or recovery
  chaos [ARGS]                 workers on real clusters under every kind of fault, and an audit
  sim --seeds N                seeded histories of a simulated world around the core
  fuzz [TARGET] [--smoke]      every decoder, and the core, against inputs that mean harm
  exhaust [--world NAME]       every interleaving of small worlds around the core

`cargo xtask COMMAND --help` says more.";

/// The text for one command.
pub(crate) fn of(command: &str) -> Option<&'static str> {
    Some(match command {
        "demo" => DEMO,
        "test" => TEST,
        "verify" => VERIFY,
        "fix" => FIX,
        "generate" => GENERATE,
        "languages" => LANGUAGES,
        "package" => PACKAGE,
        "clusters" => CLUSTERS,
        "bench" => BENCH,
        "chaos" => CHAOS,
        "sim" => SIM,
        "fuzz" => FUZZ,
        "exhaust" => EXHAUST,
        _ => return None,
    })
}

const DEMO: &str = "\
cargo xtask demo [ARGS]

Starts three stock Kafka clusters, fans real flight records out to two of them while gtc and a
broker are killed with SIGKILL, and checks the result with consumers that know nothing of gtc.
Exits non-zero if anything is missing, duplicated, out of order or torn.

ARGS go to the demo; `cargo xtask demo -- --help` lists them.";

const TEST: &str = "\
cargo xtask test [ARGS]

Checks the prerequisites, does what `verify` does, builds everything, then runs the tests of the
whole workspace, many of them on real brokers, and what `languages` does. Two test programs run at a
time; what one prints is shown when it has ended, and stands in target/test-output while it runs.
The last line is the sum over all test programs. ARGS go to `cargo test`, such as `-p gtc` or the
name of a test; with them the languages are left out, and the output comes as it is printed.";

const VERIFY: &str = "\
cargo xtask verify

Checks the format, clippy and the documentation, all without warnings, and the house rules: which
crate may depend on which, no unsafe code, no clock in the core, no file that has grown too long.
No generated file may be stale.
Changes nothing outside of target/.";

const FIX: &str = "\
cargo xtask fix

Applies what clippy can repair by itself, and formats. Works on uncommitted files too.";

const GENERATE: &str = "\
cargo xtask generate [vectors]

Writes error kinds, retry advice and configuration keys from the tables of the driver into the
sources of each language, names the verbs whose words a documentation lacks, gathers the licences
of what is linked into each package, and records the golden scenarios of the core; `vectors` does
the last alone. `verify` and the tests fail where a file is stale.";

const LANGUAGES: &str = "\
cargo xtask languages [NAME...]

Builds the packages for other languages, installs each as its users would, checks its types and
runs its tests on two real clusters that it starts. Names: c, java, node, python, wasm, crash; all
if none is given.
`crash` comes after the languages: the sample crash-and-recover of each is killed between decision
and completion, and the next language recovers the same log. Alone, it takes all packages as they
were built before.";

const PACKAGE: &str = "\
cargo xtask package [NAME...] [--features FEATURES]
cargo xtask package c --prefix PREFIX [--features FEATURES]

Builds the packages for other languages as users get them, into target/packages: the archive for C,
the jars, the tarballs for npm, wheel and source distribution for Python. Then installs each into an
empty project, runs its sample `basic` there on two clusters that it starts (for WebAssembly its
example, which needs none), reads with Kafka's own consumer what that has written, and prints how
large everything is. Names: c, java, node, python, wasm; all if none is given.

--prefix installs the C library instead: include/gtc.h, the shared and the static library in lib/,
and gtc.pc and gtc-static.pc in lib/pkgconfig/. With
`--features rdkafka/ssl-vendored,rdkafka/libz-static` what is built needs nothing but libc.";

const CLUSTERS: &str = "\
cargo xtask clusters up [N]   start N clusters of one node each (2 if not said), and keep them
cargo xtask clusters down     end them and remove their data
cargo xtask clusters status   name, process, address and health of each
cargo xtask clusters topic T  makes the topic T, with one partition, on each
cargo xtask clusters write T VALUE...   writes values to T on the first one
cargo xtask clusters read T   what a reader of committed records sees in T, on each

They live under target/clusters/up, with the broker's log in NAME/broker.log, until `down`. Where a
broker has ended, `up` starts the same cluster again, with its data and at its address; `down` and
`up` begin with empty ones.";

const BENCH: &str = "\
cargo xtask bench NAME [ARGS]

  commit     latency and throughput of global transactions on real clusters
  core       the protocol's state machine alone
  languages  transactions from C, Java, Node and Python, against Rust, on real clusters
  log        the file log against the disk
  recovery   reading a log of a million records

ARGS go to the benchmark.";

const SIM: &str = "\
cargo xtask sim --seeds N [--first F] [--threads T]
cargo xtask sim --seed N [--story | --trace] [--keep S,S] [--mute F,F] [--without RULE]
cargo xtask sim --broken [--seeds N] [--rule RULE] [--write]

Runs N simulated histories, from seed F on (0 if not said): faults, then healing, then judgement.
Each seed gives one history, always the same. A failure prints the invariant that does not hold and
the line that reproduces it, and shrinks it to a short story. --story and --trace print the main or
every step of one history; --keep and --mute name the steps that are taken and the kinds of faults
that are left out. --without leaves a rule of the core out.
--broken leaves each rule out in turn (or the one that is named) until a history notices, of N at
most (100,000 if not said), and prints rule, invariant, seed, histories and milliseconds; --write
keeps that in docs/broken-rules.md, which a test replays. More in docs/simulation.md.";

const EXHAUST: &str = "\
cargo xtask exhaust [--world NAME]... [--faults N] [--kinds LIST] [--zombies N]
                    [--transactions N] [--states MAX] [ARGS]

Visits every state that small worlds around the real core can reach, and judges each: two or three
participants, two transactions (--transactions), at most N faults at any step, one of them a zombie
(--zombies). Prints states, steps, memory and time, and for a violation its invariant and a shortest
story. --kinds names the faults, separated by commas: crash, zombie, loss, delay, repeat, log, expiry.
--plain takes no step out of turn, --quick-markers lets clusters write markers at once, --json prints
a line for machines.
Worlds: v1, v2, v1-three, v2-three, v1-v2, own-v1; all of them unless said. docs/exhaustive.md says
what is in them, and what was searched.";

const CHAOS: &str = "\
cargo xtask chaos --minutes M --seed S

Runs coordinators of their own over two or three stock Kafka clusters while coordinators and brokers
are killed, stopped and restarted, the network is cut, delayed and black-holed, a disk fills up and
time-outs expire; then everything is healed and has to end, and an auditor that knows nothing of gtc
compares what the applications were told with what the clusters show. The seed gives clusters,
workers, faults and work; `--plan` prints them, `--json` prints the result for machines. Exits
non-zero on any anomaly. Built with debug assertions: the core checks its invariants at each step.";

const FUZZ: &str = "\
cargo xtask fuzz [TARGET] [--minutes M] [--smoke] [--seconds S] [--input FILE] [--keep]

Runs the fuzz targets, or one of them, 20 minutes each if not said otherwise, as many at a time as
there are processors:
record, segment, configuration, control, core, responses, admin; docs/fuzzing.md says what each
of them checks.

  --minutes M     so long each
  --smoke         a minute each, in a debug build that is quick to make
  --seconds S     so long each, for a shorter smoke run
  --input FILE    runs one input of TARGET, as a finding says
  --keep          chooses anew the few inputs that fuzz/corpus keeps, of all that were found

What was found lies in target/fuzz/corpus, and what breaks something in target/fuzz/artifacts.";
