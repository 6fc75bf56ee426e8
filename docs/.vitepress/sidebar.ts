/**
 * The order of the manual: one path from the first steps to a running operator, then pages to look things up. Titles are those of the pages
 * themselves, unless they are too long for a sidebar.
 */
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
    title: 'Guide: start here',
    pages: within('docs/guide', 'getting-started', 'installing', 'concepts', 'choosing-handlers'),
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
      'cluster',
    ),
  },
  {
    title: 'Guide: handle objects',
    pages: within(
      'docs/guide',
      'handlers',
      'reconcile',
      'daemons',
      'timers',
      'arguments-and-patch',
      'filters',
      'results',
      'errors-and-retries',
      'subhandlers',
      'steps',
      'conditions',
      'memos',
      'indices',
    ),
  },
  {
    title: 'Guide: resources and webhooks',
    pages: within(
      'docs/guide',
      'resources-and-types',
      'custom-resources',
      'conversion',
      'hierarchies',
      'admission',
      'scopes',
    ),
  },
  {
    title: 'Guide: the operator',
    pages: within(
      'docs/guide',
      'loading',
      'startup-and-shutdown',
      'settings',
      'authentication',
      'persistence',
      'idempotence',
      'async',
      'heavy-handlers',
      'events-and-logs',
      ['metrics', 'Your own metrics'],
      'embedding',
      'tips-and-tricks',
    ),
  },
  {
    title: 'Guide: test',
    pages: within('docs/guide', 'testing', 'embedded-server'),
  },
  { title: 'Cookbook', pages: [['cookbook/README', 'Complete operators']] },
  {
    title: 'Operate',
    pages: within(
      'docs/operate',
      'deploying',
      'production-checklist',
      'local-clusters',
      'ci',
      'dashboard',
      'journal',
      'top',
      'health-checks',
      'metrics',
      'tracing',
      'replicas',
      'peering',
      'continuity',
      'upgrading',
      'upgrading-crds',
      'uninstalling',
      'security',
      'untrusted-objects',
      'troubleshooting',
      'explaining',
    ),
  },
  {
    title: 'From Kopf',
    isCollapsed: true,
    pages: within('docs/from-kopf', 'index', 'differences', 'names', 'manual'),
  },
  {
    title: 'Reference',
    pages: within(
      'docs/reference',
      'handlers-and-options',
      'arguments',
      'settings',
      'observer',
      'metrics',
      'cli',
      'errors',
      'client',
      'credentials',
      'storages',
      'webhook-servers',
      'webhook-servers-in-clusters',
      'webhook-configurations',
      'testing',
      'embedded-server',
    ),
  },
  {
    title: 'Project',
    isCollapsed: true,
    pages: [
      ...within('docs/about', 'faq', 'alternatives', 'critics', 'vision', 'naming', 'versioning'),
      ['CHANGELOG', 'Changes'],
      ['SECURITY', 'Report a vulnerability'],
      ['CONTRIBUTING', 'Contributing'],
      ['CODE_OF_CONDUCT', 'Code of conduct'],
      'docs/architecture',
      ['docs/server-architecture', 'Architecture of the server'],
      'docs/reference/source-files',
      'docs/glossary',
      'docs/decisions/README',
      'bench/README',
    ],
  },
]
