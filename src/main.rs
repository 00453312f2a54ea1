use clap::Parser;
#[derive(Parser)]
enum Cli {
    Run {
        #[arg(long)]
        config: std::path::PathBuf,
    },
    Demo(verdictd::cli::demo::Demo),
}
fn main() {
    match Cli::parse() {
        Cli::Run { config } => {
            let loaded = verdictd::config::load(&config).unwrap_or_else(|e| {
                for p in e.0 {
                    eprintln!("{p}");
                }
                std::process::exit(78)
            });
            verdictd::service::log::start(&loaded.config.log);
            if let Err(e) = verdictd::service::run(loaded.config) {
                eprintln!("{e}");
                std::process::exit(74)
            }
        }
        Cli::Bench(a) => std::process::exit(verdictd::cli::bench::run(&a).into()),
        Cli::BenchFloor(a) => std::process::exit(verdictd::cli::bench::run_floor(&a).into()),
        Cli::Demo(d) => {
            let ok = d.run(&mut std::io::stdout()).unwrap_or_else(|e| {
                eprintln!("{e}");
                std::process::exit(74)
            });
            std::process::exit(i32::from(!ok))
        }
    }
}
