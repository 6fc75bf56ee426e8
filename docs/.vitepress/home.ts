/** The top of the site's first page. Its text below, with code and output, is docs/index.md. */
export const home: Readonly<Record<string, unknown>> = {
  layout: 'home',
  title: 'kopf for TypeScript',
  titleTemplate: 'Kubernetes operators in a few lines',
  hero: {
    name: 'kopf for TypeScript',
    text: 'Kubernetes operators as plain functions',
    tagline: 'Write, run and test them with nothing but Node. Compatible with Kopf on the wire.',
    actions: [
      { theme: 'brand', text: 'Getting started', link: '/guide/getting-started' },
      { theme: 'alt', text: 'Tutorial', link: '/tutorial/' },
      { theme: 'alt', text: 'Cookbook', link: '/cookbook/' },
      { theme: 'alt', text: 'From Kopf', link: '/from-kopf/' },
    ],
  },
}
