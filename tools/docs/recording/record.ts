/** `npm run docs:record`: records the terminal session of the README and of the site's first page. A test compares it with a new run. */
import { writeFileSync } from 'node:fs'
import { animateSession } from './animation.ts'
import { recordSession, typedCommand } from './session.ts'

writeFileSync(
  'docs/diagrams/terminal.svg',
  animateSession(typedCommand, await recordSession(['../../dist/cli/main.js'])),
)
