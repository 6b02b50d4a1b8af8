module count

go 1.24
