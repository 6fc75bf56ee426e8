/** `kopf init`: creates the folder of a new operator, which runs and passes its test without changes. Asks at a terminal for what is not given. */
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { KopfError } from '../../errors.ts'
import { addExamples } from '../help.ts'
import type { AnswerProblem } from '../scaffolding/answers.ts'
import { confirm, isInteractive, print, printNote, prompt, quoteForShell } from '../terminal.ts'

interface InitArguments {
  readonly kind?: string
  readonly group?: string
  readonly force?: boolean
  readonly install?: boolean
}

export function addInitCommand(program: Command): void {
  const command = program
    .command('init')
    .summary('create the folder of a new operator')
    .description(
      'Creates a folder with a small operator in TypeScript: a resource with its schema, a reconciler, a test and a ' +
        'Dockerfile. It runs and passes its test without changes. At a terminal, the command asks for what is not given. It never ' +
        'overwrites a file.',
    )
    .argument('[folder]', 'the folder to create (default: my-operator)')
    .option('--kind <name>', 'the kind of the resource, in CamelCase (default: Greeting)')
    .option('--group <domain>', 'the API group of the resource: a domain that you own (default: example.com)')
    .option('--install', 'run "npm install" in the new folder; the default of "npm create kopf"')
    .option('--no-install', 'do not run "npm install"; the default of "kopf init"')
    .option('--force', 'write into a folder that is not empty, without asking; existing files are kept')
  addExamples(command, [
    'npx kopf init my-operator',
    'npx kopf init databases --kind Database --group example.com',
  ]).action(async (folder?: string) => init(folder, command.opts<InitArguments>()))
}

async function init(given: string | undefined, args: InitArguments): Promise<void> {
  // Imported late: help and usage errors do not need it.
  const [{ checkApiGroup, checkKind }, { installCommand, installPackages, scaffold }] = await Promise.all([
    import('../scaffolding/answers.ts'),
    import('../scaffolding/scaffold.ts'),
  ])
  const { folder, allowsFiles } = await chooseFolder(given, args)
  const kindQuestion = { text: 'Kind of the resource', option: '--kind', byDefault: 'Greeting', check: checkKind }
  const kind = await choose(kindQuestion, args.kind)
  const groupQuestion = { text: 'API group', option: '--group', byDefault: 'example.com', check: checkApiGroup }
  const group = await choose(groupQuestion, args.group)
  const { written, kept } = await scaffold({ folder, kind, group, allowsFiles })
  if (kept.length > 0) printNote(`These files existed and were not changed: ${kept.join(', ')}`)
  const isCurrent = resolve(folder) === process.cwd()
  const hasOwnPackage = kept.includes('package.json')
  const installs = args.install === true && !hasOwnPackage
  if (installs) {
    printNote(`Installing the packages of ${folder} …`)
    await installPackages(folder)
  }
  const install = hasOwnPackage ? await installCommand() : 'npm install'
  print(
    [
      `${folder} is ready: ${written.join(', ')}`,
      '',
      ...(isCurrent ? [] : [`  cd ${quoteForShell(folder)}`]),
      ...(installs ? [] : [`  ${install}`]),
      '  npm test       checks the types and runs the test, without a cluster',
      '  npm run dev    runs it on an embedded API server, and restarts it at each save',
    ].join('\n'),
  )
}

interface ChosenFolder {
  readonly folder: string
  /** Whether the folder may contain files. */
  readonly allowsFiles: boolean
}

/** At a terminal, asks before writing into a folder that is not empty, and asks for another one after a no. */
async function chooseFolder(given: string | undefined, { force = false }: InitArguments): Promise<ChosenFolder> {
  const { listFolder, shorten } = await import('../scaffolding/scaffold.ts')
  let folder = given ?? (await promptForFolder())
  if (force || !isInteractive()) return { folder, allowsFiles: force }
  for (;;) {
    const present = await listFolder(folder).catch((error: Error) => {
      if (given !== undefined) throw error
      printNote(error.message)
      return undefined
    })
    if (present?.length === 0) return { folder, allowsFiles: false }
    const question = `"${folder}" is not empty (${shorten(present ?? [])}). Add the operator to it? Existing files are kept.`
    if (present !== undefined && (await confirm(question))) return { folder, allowsFiles: true }
    folder = await promptForFolder()
  }
}

interface Question {
  readonly text: string
  readonly option: string
  readonly byDefault: string
  check(answer: string): AnswerProblem | undefined
}

/** Checks the value of the option; without one, asks until the answer is valid. A correctable answer becomes the next default. */
async function choose(question: Question, given: string | undefined): Promise<string> {
  let { byDefault } = question
  for (;;) {
    const answer = given ?? (await promptOrDefault(question.text, byDefault))
    const found = question.check(answer)
    if (found === undefined) return answer
    if (given !== undefined) throw invalidOption(question, given, found)
    printNote(`"${answer}" cannot be used: ${found.problem}`)
    byDefault = found.suggestion ?? question.byDefault
  }
}

function invalidOption({ option }: Question, given: string, { problem, suggestion }: AnswerProblem): KopfError {
  const advice = suggestion === undefined ? '' : `; try ${option} ${suggestion}`
  return new KopfError('KOPF_RESOURCE', `Cannot use ${option} "${given}": ${problem}${advice}`)
}

async function promptOrDefault(question: string, byDefault: string): Promise<string> {
  return isInteractive() ? (await prompt(`${question} (${byDefault}): `)) || byDefault : byDefault
}

/** No shell replaces the tilde of an answer. */
async function promptForFolder(): Promise<string> {
  return (await promptOrDefault('Folder', 'my-operator')).replace(/^~(?=\/|$)/, homedir())
}
