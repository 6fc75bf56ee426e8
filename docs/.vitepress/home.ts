/** What the first page of the site has above its text. The figures are those of bench/README.md; a test compares them. */
export const home: Readonly<Record<string, unknown>> = {
  layout: 'home',
  title: 'kopf for TypeScript',
  titleTemplate: 'Kubernetes operators in a few lines',
  hero: {
    name: 'kopf for TypeScript',
    text: 'Kubernetes operators in a few lines',
    tagline:
      'This object was created, that field changed, clean up when it goes. The way of Kopf, with types, and testable without a cluster.',
    actions: [
      { theme: 'brand', text: 'Getting started', link: '/guide/getting-started' },
      { theme: 'alt', text: 'Handlers', link: '/guide/handlers' },
      { theme: 'alt', text: 'Coming from Kopf', link: '/from-kopf/index' },
    ],
  },
  features: [
    {
      title: 'A Kubernetes API in 16 ms',
      details:
        'The embedded server runs inside your tests, with nothing but Node, and its clock skips the waiting. As a command it is ready after 425 ms; a real control plane on the same machine takes 2,739 ms.',
      link: '/guide/testing',
      linkText: 'Testing',
    },
    {
      title: 'One write for all handlers',
      details:
        'Ten handlers of a new object end in one write to it; with Kopf 1.45.2, in ten. Results, progress and the last handled state travel together, and are there after a crash.',
      link: '/decisions/0006-one-write-for-all-handlers',
      linkText: 'How it is done',
    },
    {
      title: '20,000 that wait, in 197 MB',
      details:
        '10,000 daemons and 10,000 timers take 3.2 % of a core, and are at most 18.7 ms late. Not everything is cheaper: an idle operator has 62 MB, and one of Kopf 45 MB.',
      link: '/benchmarks',
      linkText: 'All figures',
    },
  ],
}
