/** `npm run build`: the package as it is published, into `dist/`. */
import { buildPackage } from './package.ts'

await buildPackage('dist')
