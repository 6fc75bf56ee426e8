/** The icons, drawn on a grid of 16 by 16. They are decoration: the word beside an icon says the same. */
import type { JSX } from 'preact'

const paths = {
  failed: 'M5.3 1.8h5.4l3.5 3.5v5.4l-3.5 3.5H5.3l-3.5-3.5V5.3zM5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4',
  retrying: 'M13.5 8a5.5 5.5 0 1 1-1.7-4M13.7 1.6v3h-3',
  handling: 'M4.5 2.8 13 8l-8.5 5.2z',
  waiting: 'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M8 4.6V8l2.3 1.6',
  deleting: 'M2.5 4.3h11M6 4.3V2.2h4v2.1M3.9 4.3l.7 9.5h6.8l.7-9.5M6.7 7v4M9.3 7v4',
  handled: 'M2.5 8.6 6.2 12.3 13.5 4.2',
  warning: 'M8 2 14.4 13.4H1.6zM8 6.4v3.2M8 11.4v.3',
  info: 'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M8 7.4v3.8M8 4.7V5',
  no: 'M3.5 8h9',
  done: 'M2.5 8.6 6.2 12.3 13.5 4.2',
  overview: 'M2 9h5V2H2zM9 14h5V7H9zM2 14h5v-2.5H2zM9 4.5h5V2H9z',
  objects: 'M8 1.6 14 5v6.2L8 14.5 2 11.2V5zM2.2 5 8 8.2 13.8 5M8 8.2v6.1',
  handlers:
    'M5 2.5C3.5 2.5 3.5 4 3.5 5.2S3 8 2 8c1 0 1.5 1.6 1.5 2.8s0 2.7 1.5 2.7M11 2.5c1.5 0 1.5 1.5 1.5 2.7S13 8 14 8c-1 0-1.5 1.6-1.5 2.8s0 2.7-1.5 2.7',
  requests: 'M2 5h10M9.5 2 12.5 5l-3 3M14 11H4M6.5 8l-3 3 3 3',
  webhooks: 'M8 1.8 13.5 4v4c0 3.2-2.4 5.3-5.5 6.3C4.9 13.3 2.5 11.2 2.5 8V4zM5.5 7.8 7.4 9.7l3.2-3.5',
  problems: 'M8 2 14.4 13.4H1.6zM8 6.4v3.2M8 11.4v.3',
  search: 'M7 2.2a4.8 4.8 0 1 0 0 9.6 4.8 4.8 0 0 0 0-9.6M10.5 10.5 14 14',
  help: 'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M6.2 6.3C6.2 5.2 7 4.6 8 4.6s1.8.7 1.8 1.6c0 1.5-1.8 1.4-1.8 2.9M8 11.2v.3',
  pause: 'M5.2 3v10M10.8 3v10',
  play: 'M4.5 2.8 13 8l-8.5 5.2z',
  theme: 'M8 1.8a6.2 6.2 0 1 0 0 12.4zM8 1.8a6.2 6.2 0 0 1 0 12.4',
  menu: 'M2 4h12M2 8h12M2 12h12',
  leave: 'M6 2H2.5v12H6M10 4.5 13.5 8 10 11.5M13.5 8H6',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  write: 'M10.8 2.4l2.8 2.8-8 8H2.8v-2.8z',
  state: 'M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8M8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4',
  decision: 'M8 1.8v4.4M8 6.2 3.5 10.5v3.7M8 6.2l4.5 4.3v3.7',
  child: 'M3 2v8.5h5M8 8h5.5v5H8z',
  event: 'M8 2a4 4 0 0 1 4 4c0 4 1.5 5 1.5 5h-11S4 10 4 6a4 4 0 0 1 4-4M6.7 13.5h2.6',
  daemon: 'M2 8h2.5L6.5 3.5l3 9L11.5 8H14',
  person: 'M8 2.2a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4M2.8 14c.5-3 2.5-4.3 5.2-4.3s4.7 1.3 5.2 4.3',
  down: 'M4 6l4 4 4-4',
  up: 'M4 10l4-4 4 4',
  gone: 'M2 2l12 12M5.5 11.5a4 4 0 0 1 .3-7.8M9 4.5a4 4 0 0 1 3.3 3.2 2.5 2.5 0 0 1 .2 4.6',
} as const

export type IconName = keyof typeof paths

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}
