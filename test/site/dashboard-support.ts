/** An operator with a dashboard on an embedded cluster, and a browser that looks at it. Shared by the tests of the dashboard's page. */
import { readFileSync } from 'node:fs'
import { Operator, PermanentError, type RunningOperator, TemporaryError } from 'kopf'
import { ConfigMap, Role, RoleBinding, ServiceAccount } from 'kopf/kubernetes'
import { type Cluster, startCluster } from 'kopf/testing'
import { WebhookServer } from 'kopf/webhooks'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { dashboardOf, type RunningDashboard } from '../../src/run/options.ts'
import { parseYaml } from '../../src/util/yaml.ts'
import { findChromium } from './chromium.ts'

/** The path prefix that a proxy would have. The page must work below it. */
const prefix = '/tools/databases/'

export interface Stage extends AsyncDisposable {
  readonly cluster: Cluster
  /** The address of the dashboard, without a code. */
  readonly url: string
  loginUrl(): string
  /** A token of a new service account with these verbs on the ConfigMaps of its namespace. */
  tokenOf(name: string, verbs: readonly string[]): Promise<string>
  stopOperator(): Promise<void>
  /** Starts the operator again, at the same address. */
  restartOperator(): Promise<void>
}

export const database: { readonly kind: string } = { kind: 'database' }

function createOperator(address: string): Operator {
  const kopf = new Operator({ settings: { dashboard: { address } } })
  const labels = database
  kopf.on.startup(({ settings }) => {
    settings.admission.server = new WebhookServer({ host: '127.0.0.1' })
    settings.admission.managed = 'dashboard.kopf.dev'
  })
  kopf.on.create('configmaps', { id: 'provision', labels }, ({ patch, body, logger }) => {
    logger.info('The database is being provisioned')
    if (body.data?.['engine'] === 'mysqll') throw new PermanentError('The engine "mysqll" is not known')
    patch.metadata.labels = { provisioned: 'yes' }
  })
  kopf.on.update('configmaps', { id: 'resize', labels, field: 'data' }, () => {
    throw new TemporaryError('The disk is busy', { delay: 600 })
  })
  kopf.on.update('configmaps', { id: 'archive', labels: { ...labels, tier: 'gold' } }, () => {})
  kopf.daemon('configmaps', { id: 'ping', labels }, async ({ stopped }) => {
    await stopped.wait()
  })
  kopf.on.validate('configmaps', { id: 'check' }, ({ body }) => {
    if (body.data?.['size'] === '0') throw new PermanentError('The size cannot be 0')
  })
  // Without labels, so that the operator watches all of them, and without a webhook, so that a test can create many.
  kopf.on.event('secrets', { id: 'seen' }, () => {})
  kopf.reconcile(ServiceAccount, { id: 'store', labels, owns: [ConfigMap] }, ({ name }) => ({
    children: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${name}-settings` }, data: { a: 'b' } }],
  }))
  return kopf
}

/** Starts a cluster in real time with an operator. */
export async function startStage(): Promise<Stage> {
  const cluster = await startCluster({ clock: 'real', authorization: 'rbac' })
  let port = 0
  let running: RunningOperator
  let dashboard: RunningDashboard
  const start = async () => {
    running = await createOperator(`http://127.0.0.1:${port}${prefix}`).start(cluster)
    await running.ready
    dashboard = dashboardOf(running)!
    port = Number(new URL(dashboard.url).port)
  }
  await start()
  return {
    cluster,
    get url() {
      return dashboard.url
    },
    loginUrl: () => dashboard.createLoginUrl()!,
    tokenOf: (name, verbs) => createToken(cluster, name, verbs),
    stopOperator: () => running.stop(),
    restartOperator: start,
    async [Symbol.asyncDispose]() {
      await running.stop()
      await cluster.stop()
    },
  }
}

async function createToken(cluster: Cluster, name: string, verbs: readonly string[]): Promise<string> {
  await cluster.create(ServiceAccount, { name })
  await cluster.create(Role, { name, rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: [...verbs] }] })
  await cluster.create(RoleBinding, {
    name,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace: cluster.namespace }],
  })
  const file = readFileSync(await cluster.kubeconfigFor({ serviceAccount: name }), 'utf8')
  const [config] = parseYaml(file) as [{ users: ReadonlyArray<{ user: { token: string } }> }]
  return config.users[0]!.user.token
}

export function launchBrowser(): Promise<Browser> {
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return chromium.launch({ executablePath: findChromium(), args })
}

export interface Viewer extends AsyncDisposable {
  readonly context: BrowserContext
  readonly page: Page
  /** Console errors and warnings, violations of the Content-Security-Policy, exceptions, and requests to other hosts. */
  readonly troubles: string[]
}

/** A browser without cookies. */
export async function openViewer(
  browser: Browser,
  { url }: Pick<Stage, 'url'>,
  options: BrowserContextOptions = {},
): Promise<Viewer> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  })
  // Less than the time of a test, so that the error names what was awaited.
  context.setDefaultTimeout(15_000)
  const troubles: string[] = []
  const { origin } = new URL(url)
  await context.route(
    (to) => to.origin !== origin,
    (route) => {
      troubles.push(`a request to ${route.request().url()}`)
      return route.abort()
    },
  )
  const page = await context.newPage()
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') troubles.push(message.text())
  })
  page.on('pageerror', (error) => troubles.push(String(error)))
  return { context, page, troubles, [Symbol.asyncDispose]: () => context.close() }
}

/** The number of pixels by which the page is wider than the window. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
}
