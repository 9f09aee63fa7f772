//! Tests of shards, of labels, and of merging and its refusals.

use std::collections::BTreeSet;

use super::*;
use crate::{study, study::Overrides, study::Study};
use chronoscope_machine::Machines;
use chronoscope_run::{Clock, Domain, Run, Shard, sample};

fn study() -> Study {
    let text = r#"
        name = "mine"
        title = "Mine."
        [[case]]
        experiment = "switch"
        set = { tasks = [2, 3, 4, 5, 6, 7, 8, 9] }
        [[case]]
        experiment = "period"
    "#;
    study::parse(text).unwrap()
}

fn plan(study: &Study, overrides: &Overrides) -> Plan {
    let (cases, peers) = study.plan(&Machines::default(), overrides).unwrap();
    Plan::new(&Machines::default(), study, &cases, &peers, &[], false).unwrap()
}

#[test]
fn numbers_of_shards_are_read() {
    let read = |text: &str| text.parse::<Number>();
    assert_eq!(read("3/8").unwrap(), Number { number: 3, of: 8 });
    for wrong in ["", "3", "0/8", "9/8", "1/0", "a/b", "1/99999", "-1/8", "1/8/2"] {
        let error = read(wrong).unwrap_err().to_string();
        assert!(error.contains("1/8 to 8/8"), "{wrong}: {error}");
    }
}

#[test]
fn every_case_is_in_one_shard_and_stays_there() {
    let plan_of_all = plan(&study(), &Overrides::default());
    let shards = |plan: &Plan| -> Vec<Shard> {
        (1..=4).map(|number| plan.shard(Number { number, of: 4 })).collect()
    };
    let all = shards(&plan_of_all);
    let mut places: Vec<usize> = all.iter().flat_map(|shard| shard.cases.clone()).collect();
    places.sort_unstable();
    assert_eq!(places, (0..9).collect::<Vec<_>>());
    assert!(all.iter().filter(|shard| !shard.cases.is_empty()).count() > 1, "{all:?}");
    // Fewer cases: those that are left are in the shards in which they were.
    let only = Overrides { experiments: vec!["switch".to_owned()], ..Overrides::default() };
    let fewer = plan(&study(), &only);
    let keys = |plan: &Plan, shard: &Shard| -> BTreeSet<String> {
        shard.cases.iter().map(|&place| plan.cases[place].key.clone()).collect()
    };
    for (shard, all) in shards(&fewer).iter().zip(&all) {
        assert!(keys(&fewer, shard).is_subset(&keys(&plan_of_all, all)));
        assert_ne!(shard.plan, all.plan);
    }
}

#[test]
fn the_key_of_a_case_is_that_of_its_result() {
    let (cases, _) = study().plan(&Machines::default(), &Overrides::default()).unwrap();
    for case in &cases {
        let result = crate::observation::Observation::new(case, false).finish(case).judged();
        assert_eq!(case.key(), result.key());
    }
}

/// A part with the sample's cases of these indices, on an exact clock.
fn part(number: usize, of: usize, cases: &[usize]) -> Run {
    let mut run = sample::run();
    run.context.machine = format!("m{number}").as_str().into();
    run.context.uuid = format!("u{number}").as_str().into();
    run.context.case_seconds = Some(2.0);
    let shard = Shard { number, of, plan: "p".into(), cases: cases.to_vec(), peers: Vec::new() };
    run.context.shard = Some(shard);
    run.cases = cases.iter().map(|&place| sample::run().cases[place].clone()).collect();
    for case in &mut run.cases {
        case.clock = Some(Clock { domain: Domain::Instructions, hertz: 1, resolution: 1 });
    }
    run
}

fn merged(parts: Vec<Run>) -> Result<Run, String> {
    let named = parts.into_iter().enumerate();
    let named = named.map(|(index, run)| (format!("{index}.json"), run)).collect();
    merge(named, vec!["merge".into()]).map_err(|error| error.to_string())
}

fn json(run: &Run) -> String {
    serde_json::to_string(&(&run.cases, &run.peers, &run.study, &run.title)).unwrap()
}

#[test]
fn shards_make_the_whole_run_in_any_order() {
    let whole = part(1, 1, &[0, 1, 2, 3, 4, 5]);
    let parts = || vec![part(1, 3, &[1, 4]), part(2, 3, &[]), part(3, 3, &[0, 2, 3, 5])];
    let run = merged(parts()).unwrap();
    assert_eq!(json(&run), json(&whole));
    let mut reversed = parts();
    reversed.reverse();
    let other = merged(reversed).unwrap();
    assert_eq!(json(&other), json(&whole));
    assert_eq!((other.context.uuid, other.context.shard), (run.context.uuid, None));
    assert_eq!((run.context.machine.as_str(), run.context.host.as_str()), ("m1 + m2 + m3", "desk"));
    assert_eq!((run.context.seconds, run.context.case_seconds), (1.5, Some(6.0)));
    // A shard that was submitted again gives the same figures.
    let mut again = parts();
    again.push(part(3, 3, &[0, 2, 3, 5]));
    assert_eq!(json(&merged(again).unwrap()), json(&whole));
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let change = |change: fn(&mut Run)| {
        let mut other = part(2, 2, &[2, 3]);
        change(&mut other);
        merged(vec![part(1, 2, &[0, 1]), other]).unwrap_err()
    };
    let refused = |with: fn(&mut Run), words: &str| {
        let error = change(with);
        assert!(error.contains(words) && !error.contains('\n'), "{error}");
    };
    refused(|run| run.study = "other".into(), "1.json is of `other` and 0.json of `sample`");
    refused(|run| run.notes = "changed".into(), "in one version");
    refused(|run| run.context.revision = "1234".into(), "one build of the program");
    refused(|run| run.context.program = "chronoscope 9".into(), "1.json is by chronoscope 9");
    refused(|run| run.context.shard = None, "1.json is no shard");
    refused(|run| run.context.shard.as_mut().unwrap().plan = "q".into(), "another plan");
    refused(|run| run.context.shard.as_mut().unwrap().of = 3, "another plan");
    refused(|run| drop(run.cases.pop()), "1.json is damaged");
    refused(|run| run.context.shard.as_mut().unwrap().cases = vec![3, 2], "1.json is damaged");
    refused(|run| run.context.shard.as_mut().unwrap().number = 1, "and not 2");
    refused(|run| run.cases[0].release = "7".into(), "one version of each target");
    // Its first place is one of the other part.
    refused(|run| run.context.shard.as_mut().unwrap().cases = vec![1, 2], "unlike results of");
    assert!(merged(Vec::new()).is_err());
}

#[test]
fn figures_in_wall_time_are_of_one_machine() {
    let by_wall = |number, cases: &[usize]| {
        let mut run = part(number, 2, cases);
        run.cases[0].clock.as_mut().unwrap().domain = Domain::Wall;
        run
    };
    let error = merged(vec![by_wall(1, &[0]), by_wall(2, &[1])]).unwrap_err();
    assert!(error.contains("of the machine m2 and 0.json of m1"), "{error}");
    merged(vec![by_wall(1, &[0]), part(2, 2, &[1])]).unwrap();
    let mut same = by_wall(2, &[1]);
    same.context.machine = "m1".into();
    merged(vec![by_wall(1, &[0]), same]).unwrap();
}

#[test]
fn runs_that_are_no_shards_follow_each_other() {
    let plain = |cases: &[usize]| {
        let mut run = part(1, 1, cases);
        run.context.shard = None;
        run
    };
    let run = merged(vec![plain(&[3, 4]), plain(&[0, 4])]).unwrap();
    assert_eq!(json(&run), json(&plain(&[3, 4, 0])));
    let mut unlike = plain(&[0, 4]);
    unlike.cases[1].repetitions += 1;
    let error = merged(vec![plain(&[3, 4]), unlike]).unwrap_err();
    assert!(error.starts_with("1.json and 0.json have unlike results of inversion"), "{error}");
}

#[test]
fn labels_are_given_or_the_ci_system_s() {
    let labels = |given: &[&str], variables: &[(&str, &str)]| {
        let given: Vec<String> = given.iter().map(|text| (*text).to_owned()).collect();
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        label::labels(&given, variable).map(|labels| {
            labels.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
        })
    };
    let github = [("CI", "true"), ("GITHUB_SHA", "4898"), ("GITHUB_RUN_ID", "7")];
    assert_eq!(labels(&["board=7"], &github).unwrap(), ["board=7", "build=7", "commit=4898"]);
    assert_eq!(labels(&["commit=mine"], &github).unwrap(), ["build=7", "commit=mine"]);
    assert_eq!(labels(&["a=b=c"], &github[1..]).unwrap(), ["a=b=c"]);
    for wrong in ["a", "=b", "a=", "a b=c"] {
        let error = labels(&[wrong], &[]).unwrap_err().to_string();
        assert!(error.contains("write NAME=VALUE"), "{error}");
    }
    assert!(labels(&["a=1", "a=2"], &[]).unwrap_err().to_string().contains("given twice"));
    assert_eq!(label::machine("bench-3").unwrap().as_str(), "bench-3");
    assert!(label::machine("my desk").is_err() && label::machine("").is_err());
}
