/** Starts the journal and the dashboard of a run, if its settings ask for them. Their code is loaded only then. Called by run.ts. */
import type { Dashboard } from '../dashboard/start-dashboard.ts'
import { KopfError } from '../errors.ts'
import { copyMemo } from '../handlers/args/memos.ts'
import type { ObjectJournal } from '../journal/journal.ts'
import {
  dashboardDefaults,
  formatEndpointAddress,
  isLoopbackHost,
  parseEndpointAddress,
  type ServingAddress,
} from '../serving/address.ts'
import type { Endpoint } from '../serving/endpoint.ts'
import type { Settings } from '../settings/settings.ts'
import type { Assembly, Base, OperatorDefinition } from './bootstrap.ts'
import type { RunningDashboard } from './options.ts'

export interface ServeDashboardOptions {
  readonly base: Base
  readonly definition: OperatorDefinition
  /** Undefined until the operator is connected. */
  readonly assembly: () => Assembly | undefined
  /** Whether the address is logged. */
  readonly logsAddress: boolean
  /** Aborted when the operator has ended. */
  readonly signal: AbortSignal
}

/** Called after the startup handlers, which may change the settings. Resolves with undefined if the dashboard is off. */
export async function serveDashboard(
  options: ServeDashboardOptions,
): Promise<(RunningDashboard & Endpoint) | undefined> {
  const { settings } = options.definition
  const { address: text } = settings.dashboard
  const address = text === null ? undefined : readAddress(text, settings)
  if (address === undefined) {
    if (settings.journal.enabled) options.base.logger.warn(noReader)
    return undefined
  }
  const journal = (settings.journal.enabled ?? true) ? await startJournal(options) : undefined
  const [{ startDashboard }, { readAsset }] = await Promise.all([
    import('../dashboard/start-dashboard.ts'),
    import('../dashboard/assets.ts'),
  ])
  const { base, definition, assembly, signal } = options
  const { clock, logger, health, watchdog, pause, sessions, observers, logTap } = base
  const { certFile, keyFile } = settings.dashboard
  const dashboard = await startDashboard({
    run: {
      name: definition.name,
      registry: definition.registry,
      settings,
      clock,
      logger,
      health,
      watchdog,
      pause,
      journal,
      createMemo: () => copyMemo(definition.memo),
      session: () => sessions.common,
      context: () => assembly()?.reconciling,
      signal,
    },
    address,
    certFile,
    keyFile,
    readAsset,
    observe: (listener) => observers.add(listener),
    tapLog: (listener) => {
      logTap.listener = listener
    },
  })
  const url = formatEndpointAddress(dashboard.address)
  if (options.logsAddress) logger.info(`Serving the dashboard at ${dashboard.createLoginUrl() ?? url}`)
  return toRunning(dashboard, url)
}

const noReader =
  'The journal is not kept, although settings.journal.enabled is true: only the dashboard can show it, also to "npx kopf explain --history"; ' +
  'serve the dashboard with --dashboard or settings.dashboard.address, or leave the setting at null.'

function toRunning(dashboard: Dashboard, url: string): RunningDashboard & Endpoint {
  return {
    url,
    address: dashboard.address,
    createLoginUrl: () => dashboard.createLoginUrl(),
    close: () => dashboard.close(),
  }
}

async function startJournal({ base, definition, assembly }: ServeDashboardOptions): Promise<ObjectJournal> {
  const { ObjectJournal } = await import('../journal/journal.ts')
  const { entriesPerObject, maxBytes } = definition.settings.journal
  const journal = new ObjectJournal({
    clock: base.clock,
    entriesPerObject,
    maxBytes,
    bodyOf: ({ resource, uid }) =>
      uid === undefined ? undefined : assembly()?.context.served.find(resource, uid)?.body,
  })
  base.observers.add(journal.listener)
  return journal
}

function readAddress(text: string, { dashboard }: Settings): ServingAddress {
  const fail = (why: string): never => {
    throw new KopfError('KOPF_DASHBOARD', `Cannot serve the dashboard at "${text}": ${why}`)
  }
  const address = parseEndpointAddress(text, { ...dashboardDefaults, fail })
  if (address.scheme === 'http' && !isLoopbackHost(address.host) && !dashboard.plainHttp) {
    fail(
      'over plain HTTP, others on the network could read the tokens of its users; use https, listen on localhost, or allow it with ' +
        'settings.dashboard.plainHttp',
    )
  }
  return address
}
