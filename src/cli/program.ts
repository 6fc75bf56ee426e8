/** The tree of all commands, with their groups in the help. */
import { Command } from 'commander'
import { packageVersion } from '../util/process/package-files.ts'
import { addCompletionCommand } from './commands/completion.ts'
import { addCrdCommand } from './commands/crd.ts'
import { addDevCommand } from './commands/dev.ts'
import { addExplainCommand } from './commands/explain.ts'
import { addFreezeCommand, addResumeCommand } from './commands/freeze.ts'
import { addInitCommand } from './commands/init.ts'
import { addManifestsCommand } from './commands/manifests.ts'
import { addReleaseCommand } from './commands/release.ts'
import { addRunCommand } from './commands/run.ts'
import { addServerCommand } from './commands/server.ts'
import { addExamples } from './help.ts'

const advice = '(see --help)\n'

export function createProgram(): Command {
  const program = new Command('kopf')
    .description('Kubernetes operators in a few lines of TypeScript')
    .version(packageVersion(), '--version', 'print the version and exit')
    .helpOption('-h, --help', 'print this help and exit')
    .addHelpCommand(helpCommand())
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .configureOutput({ outputError: (text, write) => write(text.includes('Did you mean') ? text : `${text}${advice}`) })
    .exitOverride()
  addExamples(program, [
    'kopf dev operator.ts --apply objects.yaml',
    'kopf run operator.ts --namespace production',
    'kopf explain kopfexamples kopf-example-1 --file operator.ts',
    'kopf help run',
  ])
  program.commandsGroup('Operators:')
  addInitCommand(program)
  addRunCommand(program)
  addDevCommand(program)
  addFreezeCommand(program)
  addResumeCommand(program)
  program.commandsGroup('Objects:')
  addExplainCommand(program)
  addReleaseCommand(program)
  program.commandsGroup('Deployment:')
  addCrdCommand(program)
  addManifestsCommand(program)
  program.commandsGroup('Tools:')
  addServerCommand(program)
  addCompletionCommand(program)
  return program
}

function helpCommand(): Command {
  return new Command('help')
    .argument('[command]', 'the command')
    .description('print the help of a command')
    .helpGroup('Tools:')
}
