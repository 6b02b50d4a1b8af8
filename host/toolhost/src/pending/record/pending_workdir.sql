-- The workdir of each call: the bytes of its path, and its inode number.
ALTER TABLE pending ADD COLUMN workdir BLOB;
ALTER TABLE pending ADD COLUMN workdir_inode INTEGER;
