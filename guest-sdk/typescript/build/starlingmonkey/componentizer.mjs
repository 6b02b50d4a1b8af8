// Finds the package where it is installed: in this folder.
export { componentize } from '@bytecodealliance/componentize-js';
