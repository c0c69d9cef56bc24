//! Programs with subcommands that ask a service or a tool chain: `cargo`, `docker`, `kubectl`, and
//! the lists of `npm` and `pip`.
//!
//! # Model
//! `docker` and `kubectl` read their settings from the user's home, never from the working
//! directory, so a folder cannot make them start anything; they talk to a daemon or a cluster, and
//! need the network. `cargo` and `npm` read settings from the folder, which may name programs: they need a
//! folder whose settings do no harm. Sessions of a container, secrets of a cluster and other
//! configurations than the user's own have no row.

use super::{check_row, subcommand};
use crate::shell::grammar::{Operands, Row, Trait, row};
use crate::shell::policy::Policy;
use crate::shell::reason::Reason;
use crate::shell::word::Word;

const NETWORK: &[Trait] = &[Trait::Network];
const SETTINGS: &[Trait] = &[Trait::Settings];

macro_rules! package_flags {
    () => {
        " -F= --features= --all-features --no-default-features --offline --locked --frozen -q --quiet -v --verbose \
         --color= --manifest-path@"
    };
}

const CARGO: &[Row] = &[
    row(
        "cargo tree",
        concat!(
            package_flags!(),
            " -p= --package= -i= --invert= --prune= --depth= --no-dedupe -d --duplicates -e= --edges= --target= \
             --workspace --all --exclude= --prefix= --charset= -f= --format="
        ),
        Operands::None,
    )
    .runs("--config= -Z= --help")
    .with(SETTINGS),
    row(
        "cargo metadata",
        concat!(package_flags!(), " --format-version= --no-deps --filter-platform="),
        Operands::None,
    )
    .runs("--config= -Z= --help")
    .with(SETTINGS),
];

const NPM: &[Row] = &[
    row("npm ls", PACKAGES, Operands::Text).with(SETTINGS),
    row("npm list", PACKAGES, Operands::Text).with(SETTINGS),
];
const PACKAGES: &str =
    "-a -g -l -p --all --depth= --global --json --long --omit= --include= --parseable --prod";

const PIP: &[Row] = &[
    row(
        "pip list",
        "-v --format= --local --user --not-required --editable",
        Operands::None,
    )
    .with(SETTINGS),
    row("pip show", "-v -f --files --verbose", Operands::Text).with(SETTINGS),
    row("pip freeze", "--local --user --all", Operands::None).with(SETTINGS),
];

const DOCKER: &[Row] = &[
    docker("docker ps", CONTAINERS, Operands::None),
    docker("docker container ls", CONTAINERS, Operands::None),
    docker("docker images", IMAGES, Operands::Text),
    docker("docker image ls", IMAGES, Operands::Text),
    docker(
        "docker logs",
        "-f -t -n= --follow --timestamps --tail= --since= --until= --details",
        Operands::Text,
    ),
    docker("docker port", "", Operands::Text),
    docker(
        "docker volume ls",
        "-q -f= --quiet --filter= --format=",
        Operands::None,
    ),
    docker(
        "docker network ls",
        "-q -f= --quiet --filter= --format= --no-trunc",
        Operands::None,
    ),
    docker("docker version", "-f= --format=", Operands::None),
];
const CONTAINERS: &str =
    "-a -q -s -l -n= -f= --all --quiet --size --latest --last= --filter= --format= --no-trunc";
const IMAGES: &str = "-a -q -f= --all --quiet --digests --filter= --format= --no-trunc";

const fn docker(name: &'static str, flags: &'static str, operands: Operands) -> Row {
    row(name, flags, operands).with(NETWORK)
}

macro_rules! cluster_flags {
    () => {
        " -n= --namespace= --context= -A --all-namespaces -l= --selector= --request-timeout= "
    };
}

const KUBECTL: &[Row] = &[
    row(
        "kubectl get",
        concat!(
            cluster_flags!(),
            "-o^ --output^ --sort-by= --show-labels --show-kind --no-headers --field-selector= -L= --label-columns= \
             --ignore-not-found --chunk-size="
        ),
        Operands::ClusterThings,
    )
    .reads("-f= -k= --filename= --kustomize= --raw= --template= --kubeconfig=")
    .with(NETWORK),
    row(
        "kubectl describe",
        concat!(cluster_flags!(), "--show-events?="),
        Operands::ClusterThings,
    )
    .reads("-f= -k= --filename= --kustomize= --kubeconfig=")
    .with(NETWORK),
    row(
        "kubectl logs",
        concat!(
            cluster_flags!(),
            "-c= -f -p --container= --all-containers --follow --previous --tail= --since= --since-time= --timestamps \
             --prefix --limit-bytes="
        ),
        Operands::ClusterThings,
    )
    .reads("--kubeconfig=")
    .with(NETWORK),
    row("kubectl version", "--client -o^ --output^", Operands::None).with(NETWORK),
    row("kubectl config current-context", "", Operands::None),
    row("kubectl config get-contexts", "-o^ --output^ --no-headers", Operands::Text),
];

/// Options before the subcommand: none that names another configuration, daemon or server.
const CARGO_OWN: Row = row(
    "cargo",
    "-q --quiet -v --verbose --offline --locked --frozen --color=",
    Operands::None,
)
.runs("--config= -Z= -C=");
const NOTHING_OWN: Row = row("this program", "", Operands::None);
const DOCKER_OWN: Row =
    row("docker", "", Operands::None).reads("-H= -c= --host= --context= --config=");
const KUBECTL_OWN: Row = row("kubectl", "-n= --namespace= --context=", Operands::None)
    .reads("-s= --server= --kubeconfig= --token= --as= --cache-dir=");

/// Judges the words after the name of one of these programs.
pub(super) fn check(name: &str, words: &[Word], policy: &Policy) -> Result<(), Reason> {
    let (own, rows) = match name {
        "cargo" => (&CARGO_OWN, CARGO),
        "docker" => (&DOCKER_OWN, DOCKER),
        "npm" => (&NOTHING_OWN, NPM),
        "pip" => (&NOTHING_OWN, PIP),
        _ => (&KUBECTL_OWN, KUBECTL),
    };
    let (_, rest) = own.parse_leading(words, policy)?;
    let (row, rest) = subcommand(name, rows, rest)?;
    check_row(row, rest, policy)
}
