/** The globals a module finds, installed before any other code runs. */
import { installGlobals } from 'toolhost:engine';

installGlobals();
