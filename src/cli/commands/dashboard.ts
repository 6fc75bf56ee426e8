/** `kopf dashboard`: shows the dashboard of an operator in a cluster, through the API server: no Ingress and no Service are needed. */
import type { Command } from 'commander'
import { systemClock } from '../../util/async/clock.ts'
import { type AccessArguments, addAccessOptions, checkAccessUsage } from '../dashboard/access-options.ts'
import type { OperatorPod } from '../dashboard/operator-pod.ts'
import { portOption } from '../embedded.ts'
import { untilStopped } from '../exit.ts'
import { addExamples } from '../help.ts'
import { isPrintedToPerson, print, printable, printNote } from '../terminal.ts'

interface DashboardArguments extends AccessArguments {
  readonly port: number
  readonly open: boolean
}

export function addDashboardCommand(program: Command): void {
  const command = program
    .command('dashboard')
    .summary('show the dashboard of an operator in a cluster')
    .description(
      'Opens the dashboard of an operator in the browser. A server on this machine forwards to the pod of the operator through the API server, with the ' +
        'credentials of the kubeconfig. The address that is printed logs one browser in. The operator must serve the dashboard. You see the resources ' +
        'that your token allows you to list. Stop it with Ctrl-C.',
    )
    .argument('[name]', 'the name of the operator in the cluster, if several run in the namespace')
    .optionsGroup('Browser:')
    .addOption(portOption('the port of the dashboard on 127.0.0.1'))
    .option('--no-open', 'do not open the browser; the default without a terminal')
  addAccessOptions(command)
  addExamples(command, [
    'npx kopf dashboard --namespace operators',
    'npx kopf dashboard database-operator --service-account viewer',
    'kubectl create token viewer | npx kopf dashboard --token-file -',
  ]).action(async (name: string | undefined) => {
    const args = command.opts<DashboardArguments>()
    checkAccessUsage(command, args, name)
    await dashboard(args, name)
  })
}

async function dashboard(args: DashboardArguments, name: string | undefined): Promise<void> {
  const stopping = new AbortController()
  const stopped = untilStopped().then(() => stopping.abort())
  // Imported late: help and usage errors do not need it.
  const [{ accessInCluster }, { DashboardClient }, { LocalDashboard }] = await Promise.all([
    import('../dashboard/operator-access.ts'),
    import('../dashboard-client.ts'),
    import('../dashboard/local-dashboard.ts'),
  ])
  await using access = accessInCluster({ args, name, onPod: (pod) => printNote(describePod(pod)) })
  const client = new DashboardClient({ ...access, clock: systemClock })
  // Before anything is opened: a missing permission is an error of the command.
  const session = await Promise.race([client.session(stopping.signal), stopped])
  if (session === undefined) return
  await using local = await LocalDashboard.start({ ...access, client, port: args.port, clock: systemClock })
  const url = local.createLoginUrl()
  print(`Logged in as ${printable(session.user)}. Open this address; it works once:\n  ${url}`)
  if (args.open && isPrintedToPerson()) {
    const { openBrowser } = await import('../dashboard/open-browser.ts')
    await openBrowser(url)
  }
  await stopped
}

const roles = {
  only: '',
  leader: ', the leader',
  unknown: ', one of several; no Lease in the namespace names the leader',
} as const

function describePod({ namespace, name, port, role }: OperatorPod): string {
  return printable(`The operator is the pod ${namespace}/${name}, port ${port}${roles[role]}.`)
}
