/** `kopf top`: shows a running operator in the terminal, or prints what it does once. Read-only. */
import { type Command, Option } from 'commander'
import { systemClock } from '../../util/async/clock.ts'
import { toJsonText } from '../../util/json/json-text.ts'
import { type AccessArguments, addAccessOptions, checkAccessUsage } from '../dashboard/access-options.ts'
import type { OperatorAccess } from '../dashboard/operator-access.ts'
import { untilStopped } from '../exit.ts'
import { addExamples, choiceOption } from '../help.ts'
import { hasKeys, openFullScreen, outputAbilities, outputColumns, outputPalette, print, readKeys } from '../terminal.ts'
import type { ReadView } from '../top/top-snapshot.ts'
import { createTopView, sortKeys } from '../top/top-view.ts'

interface TopArguments extends AccessArguments {
  readonly url?: string
  readonly certificateAuthority?: string
  readonly insecure?: boolean
  readonly filter?: string
  readonly sort?: string
  readonly all?: boolean
  readonly once?: boolean
  readonly output: 'text' | 'json'
}

export function addTopCommand(program: Command): void {
  const command = program
    .command('top')
    .summary('show a running operator in the terminal')
    .description(
      'Shows what a running operator does: its objects by state, its handlers, failing objects with the reason and the next attempt, and its requests. ' +
        'The operator must serve the dashboard. You see the resources that your token allows you to list. Without --url, the operator is found in the ' +
        'cluster of the kubeconfig, and reached through its API server.',
    )
    .argument('[name]', 'the name of the operator in the cluster, if several run in the namespace')
    .optionsGroup('Display:')
    .option('--filter <text>', 'show only resources, handlers and objects whose name has this text')
    .addOption(choiceOption('--sort <key>', 'the order of the objects', sortKeys.objects))
    .option('-a, --all', 'show all objects, not only those that fail')
    .option('--once', 'print the state once, and exit; the default without a terminal')
    .addOption(
      choiceOption('-o, --output <format>', 'the format; json prints the state once', ['text', 'json']).default('text'),
    )
    .optionsGroup('Address:')
    .option('--url <url>', 'connect to this address of the dashboard; it may have the login code of kopf dev')
    .option('--certificate-authority <file>', 'with --url: the CA that signed the certificate of the operator')
    .addOption(new Option('--insecure', 'with --url: do not verify the certificate; for experiments only'))
  addAccessOptions(command)
  addExamples(command, [
    'npx kopf top --namespace operators',
    "npx kopf top --url 'http://127.0.0.1:8090/#code=…'",
    'npx kopf top database-operator --output json',
  ]).action(async (name: string | undefined) => {
    const args = command.opts<TopArguments>()
    checkUsage(command, args, name)
    await top(args, name)
  })
}

function checkUsage(command: Command, args: TopArguments, name: string | undefined): void {
  checkAccessUsage(command, args, name)
  const fail = (option: string, how: string) => command.error(`error: ${option} cannot be used ${how} '--url'.`)
  if (args.url !== undefined && name !== undefined) fail('a name', 'with')
  if (args.url !== undefined && args.selector !== undefined) fail("'--selector'", 'with')
  if (args.url !== undefined && args.podPort !== undefined) fail("'--pod-port'", 'with')
  if (args.url === undefined && args.certificateAuthority !== undefined) fail("'--certificate-authority'", 'without')
  if (args.url === undefined && args.insecure) fail("'--insecure'", 'without')
}

async function top(args: TopArguments, name: string | undefined): Promise<void> {
  // Imported late: help and usage errors do not need it.
  const [{ accessByUrl, accessInCluster }, { DashboardClient }] = await Promise.all([
    import('../dashboard/operator-access.ts'),
    import('../dashboard-client.ts'),
  ])
  await using access: OperatorAccess =
    args.url === undefined ? accessInCluster({ args, name }) : accessByUrl({ ...args, url: args.url })
  const client = new DashboardClient({ ...access, clock: systemClock })
  const read: ReadView = (view, query, signal) => client.view(view, query, signal)
  const view = createTopView(args)
  const isLive = !args.once && args.output === 'text' && hasKeys() && outputAbilities().canRedraw
  if (!isLive) {
    const [{ readSnapshot }, { renderTop }] = await Promise.all([
      import('../top/top-snapshot.ts'),
      import('../top/top-render.ts'),
    ])
    const snapshot = await readSnapshot(read, view, new AbortController().signal)
    const frame = {
      columns: outputColumns(),
      rows: Infinity,
      palette: outputPalette(),
      nowMs: systemClock.now(),
      hasKeys: false,
    }
    const { lines } = renderTop(snapshot, view, frame)
    print(args.output === 'json' ? toJsonText(snapshot) : lines.map((line) => line.trimEnd()).join('\n'))
    return
  }
  // The first login may ask for nothing and fail: as a message, not on the screen.
  await client.session(new AbortController().signal)
  const { TopScreen } = await import('../top/top-screen.ts')
  const stopping = new AbortController()
  void untilStopped().then(() => stopping.abort())
  const screen = new TopScreen({ read, view, openScreen: openFullScreen, palette: outputPalette(), clock: systemClock })
  using _keys = readKeys((key) => screen.press(key))
  await screen.run(stopping.signal)
}
