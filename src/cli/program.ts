/** The tree of all commands, with their groups in the help; and the two commands about the tree itself, `help` and `completion`. Called by main.ts. */
import { Command } from 'commander'
import { kubernetesVersion } from '../server/version.ts'
import { packageVersion } from '../util/process/package-files.ts'
import { addBuildCommand } from './commands/build.ts'
import { addCrdCommand } from './commands/crd/crd.ts'
import { addDashboardCommand } from './commands/dashboard.ts'
import { addDevCommand } from './commands/dev.ts'
import { addExplainCommand } from './commands/explain/explain.ts'
import { addFreezeCommand, addResumeCommand } from './commands/freeze.ts'
import { addInitCommand } from './commands/init.ts'
import { addManifestsCommand } from './commands/manifests.ts'
import { addReleaseCommand } from './commands/release.ts'
import { addRunCommand } from './commands/run.ts'
import { addServerCommand } from './commands/server.ts'
import { addTopCommand } from './commands/top.ts'
import { addUninstallCommand } from './commands/uninstall/uninstall.ts'
import { toBash } from './completion/bash.ts'
import { toFish } from './completion/fish.ts'
import { readTree } from './completion/model.ts'
import { toZsh } from './completion/zsh.ts'
import { formatUsageError } from './failure-format.ts'
import { addExamples, choiceArgument, helpConfiguration, styleHeading } from './help.ts'
import { readFailureFormat } from './options/logging.ts'
import { print } from './terminal.ts'

const completionWriters = { bash: toBash, zsh: toZsh, fish: toFish } as const

const advice = '(see --help)\n'

export function createProgram(): Command {
  const program = new Command('kopf')
    .description('Kubernetes operators in a few lines of TypeScript')
    .version(
      describeVersions(),
      '--version',
      'print the version of kopf, of Node and of the Kubernetes API of the embedded server',
    )
    .helpOption('-h, --help', 'print this help')
    .addHelpCommand(helpCommand())
    .configureHelp(helpConfiguration)
    .configureOutput({
      outputError: (text, write) => write(formatUsageError(text.includes('Did you mean') ? text : `${text}${advice}`)),
    })
    // Before the arguments of the command are parsed, so that errors in them have the format, too.
    .hook('preSubcommand', (_, command) => readFailureFormat(command))
    .exitOverride()
  addExamples(program, [
    'npx kopf dev operator.ts --apply objects.yaml',
    'npx kopf run operator.ts --namespace production',
    'npx kopf explain kopfexamples kopf-example-1 --file operator.ts',
    'npx kopf help run',
  ])
  program.commandsGroup('Operators:')
  addInitCommand(program)
  addRunCommand(program)
  addDevCommand(program)
  addTopCommand(program)
  addDashboardCommand(program)
  addFreezeCommand(program)
  addResumeCommand(program)
  program.commandsGroup('Objects:')
  addExplainCommand(program)
  addReleaseCommand(program)
  program.commandsGroup('Deployment:')
  addBuildCommand(program)
  addCrdCommand(program)
  addManifestsCommand(program)
  addUninstallCommand(program)
  program.commandsGroup('Tools:')
  addServerCommand(program)
  addCompletionCommand(program)
  return program
}

/** The first line is the version alone, for scripts. */
function describeVersions(): string {
  const { node } = process.versions
  return [packageVersion(), `Node ${node}`, `Kubernetes ${kubernetesVersion} (embedded server)`].join('\n')
}

function helpCommand(): Command {
  return new Command('help')
    .argument('[command]', 'the command')
    .description('print the help of a command')
    .helpGroup('Tools:')
}

/** `kopf completion` prints a completion script for a shell. */
function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .summary('print a completion script for a shell')
    .description(
      'Prints a script that makes a shell complete commands, options, choices and files, and from the kubeconfig and the ' +
        'cluster: contexts, namespaces, resources and names of objects. It works for kopf and for npx kopf.',
    )
    .addArgument(choiceArgument('<shell>', 'the shell', Object.keys(completionWriters)))
    .addHelpText(
      'after',
      [
        `\n${styleHeading('Install it (the lines with ln are for npx kopf):')}`,
        '  bash  $ npx kopf completion bash \\',
        '            > ~/.local/share/bash-completion/completions/kopf',
        '        $ ln -s kopf ~/.local/share/bash-completion/completions/npx',
        '  zsh   $ mkdir -p ~/.zfunc && npx kopf completion zsh > ~/.zfunc/_kopf',
        '        and in ~/.zshrc: fpath+=~/.zfunc; autoload -Uz compinit; compinit',
        '  fish  $ npx kopf completion fish > ~/.config/fish/completions/kopf.fish',
        '        $ ln -s kopf.fish ~/.config/fish/completions/npx.fish',
        `\n${styleHeading('Or for this shell only, also for npx kopf:')}`,
        '  $ source <(npx kopf completion bash)',
      ].join('\n'),
    )
    .action((shell: keyof typeof completionWriters) => print(completionWriters[shell](readTree(program)).trimEnd()))
}
