//! How is a run of sequences made, said and made again? Its size and seed come from the environment.

use std::env;
use std::io::Write as _;

use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use proptest_state_machine::{ReferenceStateMachine as _, StateMachineTest};

use crate::count::take_total;
use crate::machine::Rules;
use crate::reference::Reference;
use crate::transition::Transition;

/// Steps of one sequence: enough for a dozen calls from their keys to their ends, few enough to read and to shrink.
const STEPS: usize = 150;
/// Of so many steps, each kind of command, refusal, event and end has to happen in one at least.
const EACH_ONCE_IN: u64 = 2_000;
/// How often a failing sequence is made smaller before it is shown.
const MOST_SHRINKS: u32 = 5_000;

/// How many steps this test takes: `default`, or its share of what the environment asks for, one `part`th of half.
pub fn transitions(default: u64, part: u64) -> u64 {
    number("CALLONCE_MODEL_TRANSITIONS").map_or(default, |asked| asked.div_ceil(2 * part))
}

/// The seed of this run.
pub fn seed() -> u64 {
    number("CALLONCE_MODEL_SEED").unwrap_or(20_261_203)
}

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not `{text}`")))
}

/// Tells people, past libtest, which keeps what is printed to itself.
pub fn say(text: &str) {
    // A closed stderr is no fault of the model.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Runs sequences of `M` until that many steps are taken. `stream` tells the tests of one seed apart; where there
/// are `processes`, they have to end in each way.
pub fn sequences<M>(place: &str, transitions: u64, stream: u8, processes: bool)
where
    M: StateMachineTest<Reference = Rules>,
{
    let seed = seed();
    let cases = u32::try_from(transitions.div_ceil(STEPS as u64)).expect("some millions of sequences");
    let config =
        Config { cases, max_shrink_iters: MOST_SHRINKS, failure_persistence: None, ..Config::default() };
    let mut bytes = [stream; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config.clone(), rng);
    let outcome = runner.run(&Rules::sequential_strategy(STEPS), |(reference, steps, seen)| {
        M::test_sequential(config.clone(), reference, steps, seen);
        Ok(())
    });
    let count = take_total();
    count.say(&format!("{place}, seed {seed}"));
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, (_, steps, _))) => {
            show(&steps);
            panic!(
                "seed {seed}, {place}: the smallest sequence that fails has {} steps: {reason}",
                steps.len()
            );
        }
        Err(TestError::Abort(reason)) => panic!("seed {seed}, {place}: given up: {reason}"),
    }
    assert!(count.transitions >= transitions, "{} of {transitions} steps were taken", count.transitions);
    count.expect_each_once_in(EACH_ONCE_IN, processes);
}

/// Tells the sequence step by step, with what the reference makes of it.
fn show(steps: &[Transition]) {
    let mut reference = Reference::new();
    let mut story = String::from("model: a sequence that fails\n");
    for (number, transition) in steps.iter().enumerate() {
        transition.happens(&mut reference);
        for (call, ask, now, outcome) in &reference.steps {
            let number = number + 1;
            story += &format!("  {number}. at {now}: call {call}, {ask:?}: {outcome:?}");
            story += &format!(" ({:?} view, then {:?})\n", transition.view, transition.fate);
        }
    }
    say(&story);
}
