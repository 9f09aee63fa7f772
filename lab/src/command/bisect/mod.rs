//! `chronoscope bisect`: the commit that made a figure worse, found by building and measuring. On an
//! emulated target one measurement of each commit decides.

mod git;

use std::{fs, path::Path, process::Command, sync::atomic::AtomicBool, sync::atomic::Ordering};

use anyhow::{Context, Result, anyhow, bail};

use self::git::{Next, Repository};
use super::{run, single, why};
use crate::cli;
use chronoscope_base::{console, signals};
use chronoscope_child::{self as child, Folder};
use chronoscope_engine::{case, case::Plan};
use chronoscope_machine::Machines;
use chronoscope_report::answer::reading;
use chronoscope_run::Target;
use chronoscope_units::{printable, show};

/// A commit's figure.
struct Figure {
    value: f64,
    unit: String,
}

impl Figure {
    fn words(&self) -> String {
        show(self.value, &self.unit)
    }
}

/// A bisection: what is built and measured at each commit.
struct Bisection<'a> {
    arguments: &'a cli::Bisect,
    target: Target,
    /// The image that the build makes.
    image: &'a Path,
    /// The images that were measured, by commit.
    images: Folder,
    stop: &'a AtomicBool,
}

/// Finds the commit; returns the exit status.
///
/// # Errors
/// The repository has changes, an end cannot be built, or the bad end is no worse than the good one.
pub fn execute(arguments: &cli::Bisect) -> Result<u8> {
    let target: Target = arguments.target.parse()?;
    let Some(image) = target.image.clone() else {
        bail!(
            "`{target}` has no image of yours: write mine=IMAGE@MACHINE, with what the build makes"
        );
    };
    let stop = signals::watch()?;
    let bisection = Bisection { arguments, target, image: &image, images: Folder::new()?, stop };
    let repository = Repository::begin(stop)?;
    let good = repository.commit(&arguments.good)?;
    let bad = repository.commit(&arguments.bad)?;
    let commits = repository.distance(&good, &bad)?;
    let end = |word: &str, commit: &str| {
        repository.check_out(commit)?;
        let which = || repository.described(commit).unwrap_or_default();
        let figure = bisection.figure(commit).with_context(which)?;
        console::print(&format!("{word:<5} {}  {}\n", &commit[..10], figure.words()))?;
        Ok::<_, anyhow::Error>(figure)
    };
    let least = end("good", &good)?;
    let most = end("bad", &bad)?;
    if most.value <= least.value {
        bail!("the bad commit is no worse: {} at {}", most.words(), &bad[..10]);
    }
    let found =
        bisection.search(&repository, [&good, &bad], f64::midpoint(least.value, most.value))?;
    let before = repository.commit(&format!("{found}^"))?;
    console::print(&format!(
        "\n{} made `{}` worse, one of {commits} commits\n",
        repository.described(&found)?,
        arguments.experiment
    ))?;
    match bisection.reason(&before, &found) {
        Ok(text) => console::print(&format!("\n{text}"))?,
        Err(error) => console::remark(&format!("its reason is not shown: {error:#}")),
    }
    Ok(0)
}

impl Bisection<'_> {
    /// Builds the commit that is checked out, measures it, and keeps the image.
    ///
    /// # Errors
    /// The build fails, makes no image, or the image measures nothing.
    fn figure(&self, commit: &str) -> Result<Figure> {
        self.build()?;
        let kept = self.images.path(commit);
        fs::copy(self.image, &kept)
            .with_context(|| format!("the build made no {}", self.image.display()))?;
        let target = Target { image: Some(kept), ..self.target.clone() };
        let machines = Machines::default();
        let spec = case::experiment(&self.arguments.experiment)?;
        let settings = run::set(Vec::new(), &self.arguments.set)?;
        let mut cases = case::expand(&machines, spec, &target, &settings, &Plan::default())?;
        let (Some(mut case), true) = (cases.pop(), cases.is_empty()) else {
            bail!("give each parameter one value: a bisection is of one case")
        };
        case.repeat = 1;
        let keep = cli::Keep { store: cli::Store { store: None }, no_store: true };
        let measured = single::run_until(&case, machines.open(&target)?, &keep, true, self.stop)?;
        let case = measured.run()?.cases.first().context("nothing was measured")?;
        if !case.is_deterministic() {
            bail!("{target}: figures vary from run to run: bisect needs an emulated target");
        }
        let reading = reading::find(&self.arguments.experiment)
            .with_context(|| format!("`{}` has no figure", self.arguments.experiment))?;
        let span = reading::span(case, reading::figures(reading).0).filter(|_| case.is_proven());
        let reasons = || anyhow!("nothing was measured: {}", case.verdict.reasons.join("; "));
        let span = span.ok_or_else(reasons)?;
        Ok(Figure { value: span.number(), unit: span.unit })
    }

    fn build(&self) -> Result<()> {
        let [program, arguments @ ..] = self.arguments.build.as_slice() else {
            bail!("write the build command after --")
        };
        let output = child::output(Command::new(program).args(arguments), self.stop)?;
        if output.status.success() {
            return Ok(());
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let last = errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        bail!("the build failed: {}", printable(last))
    }

    /// The first commit after the good one whose figure is above `bound`.
    fn search(
        &self,
        repository: &Repository<'_>,
        [good, bad]: [&str; 2],
        bound: f64,
    ) -> Result<String> {
        repository.tell("good", good)?;
        let mut next = repository.tell("bad", bad)?;
        loop {
            if let Next::Found(commit) = next {
                return Ok(commit);
            }
            let here = repository.head()?;
            let figure = self.figure(&here);
            if self.stop.load(Ordering::Relaxed) {
                bail!("interrupted: the checkout is where it was");
            }
            let (verdict, words) = match &figure {
                Ok(figure) if figure.value > bound => ("bad", figure.words()),
                Ok(figure) => ("good", figure.words()),
                Err(error) => ("skip", format!("{error:#}")),
            };
            console::print(&format!("{verdict:<5} {}  {words}\n", &here[..10]))?;
            next = repository.tell(verdict, &here)?;
        }
    }

    /// The difference between two commits' rounds, by function.
    fn reason(&self, before: &str, after: &str) -> Result<String> {
        let side = |name: &str, commit: &str| {
            let image = self.images.path(commit);
            format!("{name}={}@{}", image.display(), self.target.machine)
        };
        let arguments = cli::Why {
            a: side("before", before),
            b: side("after", after),
            experiment: self.arguments.experiment.clone(),
            set: self.arguments.set.clone(),
            full: true,
            output: None,
        };
        why::text(&arguments, None, self.stop)
    }
}
