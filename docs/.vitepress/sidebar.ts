/** The order of the manual. Titles are those of the pages themselves, unless they are too long for a sidebar. */
export interface Section {
  readonly title: string
  readonly isCollapsed?: boolean
  /** Files from the root of the repository without `.md`, some with a shorter title. */
  readonly pages: readonly (string | readonly [page: string, title: string])[]
}

function within(folder: string, ...names: (string | [string, string])[]): (string | [string, string])[] {
  return names.map((name) => (typeof name === 'string' ? `${folder}/${name}` : [`${folder}/${name[0]}`, name[1]]))
}

export const sections: readonly Section[] = [
  {
    title: 'First steps',
    pages: within('docs/guide', 'installing', 'concepts', 'getting-started'),
  },
  {
    title: 'Tutorial',
    isCollapsed: true,
    pages: within(
      'docs/tutorial',
      'index',
      'problem',
      'setup',
      'resources',
      'starting',
      'creation',
      'updates',
      'diffs',
      'deletion',
      'cleanup',
      'next',
    ),
  },
  {
    title: 'Resource handling',
    pages: within(
      'docs/guide',
      'handlers',
      'reconcile',
      'daemons',
      'timers',
      'arguments-and-patch',
      'async',
      'loading',
      'resources-and-types',
      'custom-resources',
      'filters',
      'results',
      'errors-and-retries',
      'scopes',
      'memos',
      'indices',
      'admission',
      'subhandlers',
      'steps',
      'conditions',
      'conversion',
      'heavy-handlers',
    ),
  },
  {
    title: 'Operator handling',
    pages: within(
      'docs/guide',
      'startup-and-shutdown',
      'health-checks',
      'authentication',
      'settings',
      'persistence',
      'peering',
      'replicas',
      'explaining',
    ),
  },
  {
    title: 'Toolkits',
    pages: within('docs/guide', 'events-and-logs', 'hierarchies', 'testing', 'embedding', 'embedded-server'),
  },
  {
    title: 'Recipes',
    pages: within(
      'docs/guide',
      'deploying',
      'upgrading-crds',
      'uninstalling',
      'security',
      ['authors', 'What authors of objects can do'],
      'continuity',
      'idempotence',
      'reconciliation',
      'tips-and-tricks',
      'troubleshooting',
    ),
  },
  {
    title: 'Reference',
    pages: within(
      'docs/reference',
      'handlers-and-options',
      'arguments',
      'settings',
      'observer',
      'cli',
      'errors',
      'client',
      'credentials',
      'storages',
      'webhook-servers',
      ['webhook-servers-in-clusters', 'Webhook servers in a cluster'],
      'webhook-configurations',
      'testing',
      ['embedded-server', 'What the embedded server serves'],
    ),
  },
  {
    title: 'Developer manual',
    isCollapsed: true,
    pages: [
      'docs/guide/local-clusters',
      ['CONTRIBUTING', 'Contributing'],
      ['SECURITY', 'Reporting a vulnerability'],
      'docs/architecture',
      ['docs/server-architecture', 'Architecture of the server'],
      'docs/reference/source-files',
      'docs/glossary',
      'docs/decisions/README',
      'bench/README',
    ],
  },
  {
    title: 'About',
    isCollapsed: true,
    pages: [
      ...within('docs/about', 'vision', 'naming', 'alternatives', 'critics'),
      'docs/guide/coming-from-kopf',
      ['CHANGELOG', 'Changes'],
    ],
  },
]
