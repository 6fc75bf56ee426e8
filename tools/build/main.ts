/** `npm run build`: builds the published package into `dist/`. */
import { buildPackage } from './package.ts'

await buildPackage('dist')
