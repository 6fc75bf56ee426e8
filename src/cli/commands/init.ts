/** `kopf init`: creates the folder of a new operator, which runs and passes its test without changes. */
import type { Command } from 'commander'
import { addExamples } from '../help.ts'
import { isInteractive, print, prompt } from '../terminal.ts'

interface InitArguments {
  readonly kind?: string
  readonly group?: string
}

export function addInitCommand(program: Command): void {
  const command = program
    .command('init')
    .summary('write the folder of a new operator')
    .description(
      'Writes a small operator in TypeScript into a new folder: a resource with its schema, a reconciler, a test, a ' +
        'Dockerfile. It runs and passes its test at once. On a terminal it asks for what is not given. Nothing is overwritten.',
    )
    .argument('[folder]', 'the new folder (default: my-operator)')
    .option('--kind <name>', 'the kind of the resource, in CamelCase (default: Greeting)')
    .option('--group <domain>', 'the API group of the resource: a domain of yours (default: example.com)')
  addExamples(command, ['kopf init my-operator', 'kopf init databases --kind Database --group example.com']).action(
    async (folder?: string) => init(folder, command.opts<InitArguments>()),
  )
}

async function init(given: string | undefined, args: InitArguments): Promise<void> {
  const folder = given ?? (await promptOrDefault('Folder', 'my-operator'))
  const kind = args.kind ?? (await promptOrDefault('Kind of the resource', 'Greeting'))
  const group = args.group ?? (await promptOrDefault('API group', 'example.com'))
  // Imported late: help and usage errors do not need it.
  const { scaffold } = await import('./scaffold.ts')
  const files = await scaffold({ folder, kind, group })
  print(
    [
      `${folder} is ready: ${files.join(', ')}`,
      '',
      `  cd ${folder}`,
      '  npm install',
      '  npm test       checks the types and runs the test, without a cluster',
      '  npm run dev    runs it on an API server of its own; every save is in effect at once',
    ].join('\n'),
  )
}

async function promptOrDefault(question: string, byDefault: string): Promise<string> {
  return isInteractive() ? (await prompt(`${question} (${byDefault}): `)) || byDefault : byDefault
}
